# frozen_string_literal: true

module Guildhall
  VERSION = "0.1.0"
  # Where the project lives; both gemspecs take their addresses from here.
  HOMEPAGE = "https://github.com/guildhall-rb/guildhall"
end
