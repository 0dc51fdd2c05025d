# frozen_string_literal: true

require_relative "lib/guildhall/version"

Gem::Specification.new do |spec|
  spec.name = "guildhall-web"
  spec.version = Guildhall::VERSION
  spec.summary = "A dashboard for Kafka: groups, topics, messages, dead letters, and what needs attention"
  spec.description = "Shows what a Kafka cluster and its consumer groups do, and why: how far each partition is behind, messages decoded " \
                     "as the routes say, dead letters by cause, the schedule. A Rack application, or a process of its own."
  spec.authors = ["The Guildhall developers"]
  spec.licenses = %w[MIT 0BSD] # ours; that of idiomorph (lib/guildhall/web/assets)
  spec.required_ruby_version = Guildhall::RUBIES
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/guildhall-web.rb", "{lib,sig}/guildhall/web{.rb,.rbs,/**/*.{rb,rbs}}", "lib/guildhall/web/{assets,views}/*",
      "README-web.md", "LICENSE.txt"]
  end
  spec.add_dependency "guildhall-kafka", Guildhall::VERSION
  spec.add_dependency "rack", ">= 3.0", "< 4"
  spec.homepage = Guildhall::HOMEPAGE
  spec.metadata = {
    "source_code_uri" => "#{Guildhall::HOMEPAGE}/tree/v#{Guildhall::VERSION}",
    "changelog_uri" => "#{Guildhall::HOMEPAGE}/blob/main/CHANGELOG.md", "documentation_uri" => "#{Guildhall::HOMEPAGE}/tree/main/docs",
    "bug_tracker_uri" => "#{Guildhall::HOMEPAGE}/issues", "rubygems_mfa_required" => "true"
  }
end
