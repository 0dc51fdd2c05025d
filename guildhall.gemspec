# frozen_string_literal: true

require_relative "lib/guildhall/version"

Gem::Specification.new do |spec|
  spec.name = "guildhall"
  spec.version = Guildhall::VERSION
  spec.summary = "Ractor-safe building blocks: queue, worker pool, codecs, pipelines"
  spec.description = "Runs the CPU-bound part of a Ruby process on every core without asking the application to " \
                     "become Ractor-safe: frozen in, Ractor, frozen out."
  spec.authors = ["The Guildhall developers"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.4"
  spec.files = Dir.chdir(__dir__) do
    Dir["{lib,sig}/**/*.{rb,rbs}", "ext/guildhall/**/*.{c,h,rb}", "exe/guildhall", "{README,CHANGELOG}.md", "LICENSE.txt"] -
      Dir["{lib,sig}/guildhall/{kafka,adapters,web}{.rb,.rbs,/**/*}"] # these are in the gem guildhall-kafka
  end
  spec.bindir = "exe"
  spec.executables = ["guildhall"]
  spec.extensions = ["ext/guildhall/extconf.rb"]
  spec.metadata = {"rubygems_mfa_required" => "true"}
end
