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
  spec.required_ruby_version = Guildhall::RUBIES
  spec.files = Dir.chdir(__dir__) do
    # All guides are here, because they link to each other; what another gem has is left out, but for the licence. docs/tests.md is not
    # committed.
    all = Dir["{lib,sig}/**/*.{rb,rbs}", "sig/manifest.yaml", "ext/guildhall/**/*.{c,h,rb}", "exe/guildhall",
      "{README,CHANGELOG,CONTRIBUTING,SECURITY}.md", "docs/**/*.{md,svg,webp}", "examples/*.rb"]
    others = %w[guildhall-kafka guildhall-tools guildhall-web].flat_map { |name| Gem::Specification.load("#{__dir__}/#{name}.gemspec").files }
    all - others - ["examples/demo.rb", "docs/tests.md"] + ["LICENSE.txt"]
  end
  spec.bindir = "exe"
  spec.executables = ["guildhall"]
  spec.extensions = ["ext/guildhall/extconf.rb"]
  spec.homepage = Guildhall::HOMEPAGE
  spec.metadata = {
    "source_code_uri" => "#{Guildhall::HOMEPAGE}/tree/v#{Guildhall::VERSION}",
    "changelog_uri" => "#{Guildhall::HOMEPAGE}/blob/main/CHANGELOG.md", "documentation_uri" => "#{Guildhall::HOMEPAGE}/tree/main/docs",
    "bug_tracker_uri" => "#{Guildhall::HOMEPAGE}/issues", "rubygems_mfa_required" => "true"
  }
end
