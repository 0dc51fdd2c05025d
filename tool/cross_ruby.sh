#!/bin/sh
# Builds a Ruby for another platform, for precompiled gems: its rbconfig.rb names compiler and headers, and with an emulator it runs what
# comes out.
#   tool/cross_ruby.sh SOURCE PLATFORM COMPILER    (SOURCE: the unpacked source of a Ruby of the version of $RUBY)
#   tool/cross_ruby.sh ruby-4.0.5 aarch64-linux-gnu aarch64-linux-gnu-gcc
#   TARGET_RBCONFIG=build/cross/aarch64-linux-gnu/…/rbconfig.rb bin/rake precompiled:compile
# musl-gcc knows no headers of the kernel, which the extensions want: "musl-gcc -idirafter FOLDER", with links to
# /usr/include/linux, /usr/include/asm-generic and /usr/include/x86_64-linux-gnu/asm in it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tool/ruby.sh"
[ $# = 3 ] || fail "usage: tool/cross_ruby.sh SOURCE PLATFORM COMPILER"
source=$(cd "$1" && pwd) platform=$2 compiler=$3
version=$("$RUBY" -e 'print RUBY_VERSION[/\d+\.\d+/]')
prefix="$root/build/cross/$platform/ruby-$version"
work="$prefix.work"
mkdir -p "$work"
cd "$work"
"$source/configure" --host="$platform" --build="$("$source/tool/config.guess" 2>/dev/null || cc -dumpmachine)" --prefix="$prefix" \
  --with-baseruby="$RUBY" --disable-install-doc --disable-yjit --disable-zjit --without-gmp CC="$compiler"
make -j"$(nproc)"
make install-nodoc
find "$prefix" -name rbconfig.rb
