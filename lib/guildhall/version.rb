# frozen_string_literal: true

module Guildhall
  VERSION = "0.1.0"
  # The versions of Ruby that this one is proved on: a newer Ruby may keep objects alive by other rules, and the extension would then
  # corrupt memory. The variable GUILDHALL_UNPROVED_RUBY=1 lifts the upper bound, to try it.
  RUBIES = [">= 3.4", ("< 4.1.a" unless ENV["GUILDHALL_UNPROVED_RUBY"] == "1")].compact.freeze
  # Where the project lives; the gemspecs take their addresses from here.
  HOMEPAGE = "https://github.com/guildhall-rb/guildhall"
end
