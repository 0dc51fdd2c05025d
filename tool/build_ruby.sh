#!/bin/sh
# Builds CRuby 3.4.5 with YJIT from Debian's own source package into ~/.rubies: about five minutes on two cores, once.
# Each step leaves a mark, so that an interrupted build is resumed; the finished tree is moved into place in one step,
# so that a half-installed Ruby is never found.
set -eu

version=3.4.5
sha256=141fb3b0192b8196361b3b4d6c29fc9b10c0798dbe54ada1539d9f1c311bfcbf
packages="gcc make libc6-dev xz-utils libyaml-dev libssl-dev libffi-dev zlib1g-dev libgmp-dev"
yjit_packages="rustc" # YJIT is written in Rust; a Ruby without it works as well
prefix="$HOME/.rubies/ruby-$version"
work="${XDG_CACHE_HOME:-$HOME/.cache}/guildhall/ruby-$version"
log="$work/build.log"

fail() { echo "guildhall: $*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

missing_packages() {
  for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done
}

install_packages() {
  missing=$(missing_packages)
  command -v rustc >/dev/null || missing="$missing$yjit_packages"
  [ -z "$missing" ] && return 0
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update && apt-get install -y --no-install-recommends $missing"
}

# The mirrors that apt is configured with, as apt itself prints them: none before its lists were fetched.
mirrors() {
  apt-get indextargets --format '$(REPO_URI)' | sort -u
}

download() {
  [ -n "$(mirrors)" ] || as_root apt-get update
  for mirror in $(mirrors); do
    /usr/lib/apt/apt-helper download-file "${mirror%/}/pool/main/r/ruby3.4/ruby3.4_$version.orig.tar.xz" \
      "$work/ruby.tar.xz" "SHA256:$sha256" && return 0
  done
  return 1
}

unpack() {
  rm -rf "$work/source" && mkdir -p "$work/source"
  tar -xJf "$work/ruby.tar.xz" -C "$work/source" --strip-components=1
  : >"$work/source/gems/bundled_gems" # these would be fetched one by one; Bundler brings what we use
}

configure() {
  yjit=""
  if command -v rustc >/dev/null; then yjit=--enable-yjit; fi
  cd "$work/source" && { ./configure --prefix="$prefix" --disable-install-doc --enable-shared $yjit ||
    ./configure --prefix="$prefix" --disable-install-doc --enable-shared; } # a Rust that is too old for YJIT
}

compile() {
  make -C "$work/source" -j"$(nproc)"
}

install_tree() {
  rm -rf "$work/stage" && make -C "$work/source" install-nodoc DESTDIR="$work/stage"
  mkdir -p "${prefix%/*}" && rm -rf "$prefix" && mv "$work/stage$prefix" "$prefix"
}

title() {
  case "$1" in
    install_packages) echo "installing Debian packages" ;;
    install_tree) echo "installing" ;;
    download) echo "downloading the source" ;;
    unpack) echo "unpacking" ;;
    configure) echo "configuring" ;;
    compile) echo "compiling" ;;
  esac
}

# The progress of the step, if it is known.
progress() {
  [ "$1" = compile ] || return 0
  # -c prints 0 and fails where there is none
  printf ', %s of about 720 files' "$(grep -c '^compiling\|^linking\|^generating' "$log" 2>/dev/null || true)"
}

# Runs one of the steps above with its output in the log; shows what runs, how far it is and for how long.
step() {
  name=$1
  [ -e "$work/$name.done" ] && return 0
  began=$(date +%s)
  setsid "$0" --step "$name" >>"$log" 2>&1 </dev/null & # a process group of its own, to end it as a whole
  child=$!
  trap 'kill -TERM "-$child" 2>/dev/null; exit 130' INT TERM
  shown=0
  while kill -0 "$child" 2>/dev/null; do
    elapsed=$(($(date +%s) - began))
    line=$(printf '  Ruby %s: %s … %d:%02d%s' "$version" "$(title "$name")" $((elapsed / 60)) $((elapsed % 60)) "$(progress "$name")")
    if [ -t 2 ]; then
      printf '\r%s ' "$line" >&2
    elif [ "$elapsed" -ge "$shown" ]; then
      echo "$line" >&2
      shown=$((elapsed + 30))
    fi
    sleep 0.5
  done
  [ -t 2 ] && printf '\n' >&2
  wait "$child" || { tail -n 5 "$log" >&2; fail "$(title "$name") failed; the whole log is $log"; }
  touch "$work/$name.done"
}

if [ "${1:-}" = --step ]; then
  "$2"
  exit
fi

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "no Ruby ≥ 3.4 found, and this system is not Debian: install one (mise, rbenv, asdf, your packages) and run this again"
if [ -n "$(missing_packages)" ] && [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
  fail "to build Ruby $version, first run: sudo apt-get install $(missing_packages)"
fi

mkdir -p "$work"
missing=$(missing_packages)
{
  echo "No Ruby 3.4 or newer here: building Ruby $version with YJIT into $prefix."
  echo "  About 5 minutes on two cores and 400 MB while it builds, once. An interrupted build is resumed by the next call."
  if [ -n "$missing" ]; then echo "  Installs with apt-get, as root: $missing$yjit_packages"; fi
  echo "  To follow it: tail -f $log"
} >&2
for name in install_packages download unpack configure compile install_tree; do step "$name"; done
rm -rf "$work"
echo "  Ruby $version is ready" >&2
