# frozen_string_literal: true

require_relative "lib/guildhall/version"

Gem::Specification.new do |spec|
  spec.name = "guildhall-tools"
  spec.version = Guildhall::VERSION
  spec.summary = "Tools for developing with Guildhall: doctor, advisor, leak check"
  spec.description = "Explains why code cannot run on worker Ractors and what to change, measures whether workers pay for your payloads, " \
                     "and finds threads, Ractors and file descriptors that tests leave behind. For the group development of a Gemfile."
  spec.authors = ["The Guildhall developers"]
  spec.license = "MIT"
  spec.required_ruby_version = Guildhall::RUBIES
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/guildhall-tools.rb", "{lib,sig}/guildhall/{tools,doctor,advisor,chart,leak_check}{.rb,.rbs,/**/*.{rb,rbs}}",
      "README-tools.md", "LICENSE.txt"]
  end
  spec.add_dependency "guildhall", Guildhall::VERSION
  spec.homepage = Guildhall::HOMEPAGE
  spec.metadata = {
    "source_code_uri" => "#{Guildhall::HOMEPAGE}/tree/v#{Guildhall::VERSION}",
    "changelog_uri" => "#{Guildhall::HOMEPAGE}/blob/main/CHANGELOG.md", "documentation_uri" => "#{Guildhall::HOMEPAGE}/tree/main/docs",
    "bug_tracker_uri" => "#{Guildhall::HOMEPAGE}/issues", "rubygems_mfa_required" => "true"
  }
end
