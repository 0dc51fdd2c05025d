# frozen_string_literal: true

# Prints what a process needs to load what was built with the settings of this one.
require "json"
require_relative "../../../tool/environment"

library = Environment::LIBRARY
puts JSON.generate("RUBYLIB" => [library, *ENV["RUBYLIB"].to_s.split(":").reject { |path| path.include?("/build/") && path != library }].join(":"),
  "BUNDLE_GEMFILE" => Environment::GEMFILE, "RUBYOPT" => ENV.fetch("RUBYOPT", nil))
