# Sourced by the scripts under bin/. Leaves in $RUBY the Ruby to work with: the one the user named with
# RUBY=, else the newest on this machine that Guildhall is proved on, else (Debian) one that it builds, once.

fail() { echo "guildhall: $*" >&2; exit 1; }

# Prints "VERSION PATH" when PATH is a CRuby that Guildhall is proved on (lib/guildhall/version.rb), nothing otherwise.
usable_ruby() {
  [ -x "$1" ] || return 0
  "$1" -r "$root/lib/guildhall/version.rb" -e '
    fit = RUBY_ENGINE == "ruby" && Gem::Requirement.new(Guildhall::RUBIES).satisfied_by?(Gem.ruby_version)
    print RUBY_VERSION, " ", ARGV[0], "\n" if fit' "$1" 2>/dev/null || true
}

newest_ruby() {
  for candidate in "$(command -v ruby || true)" "$HOME"/.rubies/*/bin/ruby /opt/rubies/*/bin/ruby \
    "${MISE_DATA_DIR:-$HOME/.local/share/mise}"/installs/ruby/*/bin/ruby \
    "${RBENV_ROOT:-$HOME/.rbenv}"/versions/*/bin/ruby "${ASDF_DATA_DIR:-$HOME/.asdf}"/installs/ruby/*/bin/ruby; do
    usable_ruby "$candidate"
  done | sort -t. -k1,1nr -k2,2nr -k3,3nr | head -n 1 | cut -d' ' -f2-
}

if [ -n "${RUBY:-}" ]; then
  found=$(command -v "$RUBY") || fail "there is no RUBY=$RUBY to run"
  RUBY=$found
  [ -n "$(usable_ruby "$RUBY")" ] || fail "RUBY=$RUBY is not CRuby 3.4 or 4.0: name one that is, or leave RUBY unset (GUILDHALL_UNPROVED_RUBY=1 tries a newer one)"
else
  RUBY=$(newest_ruby)
  if [ -z "$RUBY" ]; then
    "$root/tool/build_ruby.sh" || exit 1
    RUBY=$(newest_ruby)
  fi
fi
export RUBY
