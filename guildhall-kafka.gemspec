# frozen_string_literal: true

require_relative "lib/guildhall/version"

Gem::Specification.new do |spec|
  spec.name = "guildhall-kafka"
  spec.version = Guildhall::VERSION
  spec.summary = "A Kafka consumer framework that decodes and validates on every core"
  spec.description = "Routing, consumers, offsets and retries for Kafka on librdkafka; payloads are decoded, validated " \
                     "and filtered on Guildhall's worker Ractors while the application stays as it is."
  spec.authors = ["The Guildhall developers"]
  spec.license = "MIT"
  spec.required_ruby_version = Guildhall::RUBIES
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/guildhall-kafka.rb", "{lib,sig}/guildhall/{kafka,karafka}{.rb,.rbs,/**/*.{rb,rbs}}",
      "lib/generators/**/*.{rb,tt}", "ext/guildhall_kafka/**/*.{c,h,rb}",
      "README-kafka.md", "examples/{kafka,karafka}*.rb", "examples/karafka/**/*.rb", "LICENSE.txt"]
  end
  spec.extensions = ["ext/guildhall_kafka/extconf.rb"]
  spec.add_dependency "guildhall", Guildhall::VERSION
  spec.add_dependency "karafka-rdkafka", "~> 0.31.0"
  spec.homepage = Guildhall::HOMEPAGE
  spec.metadata = {
    "source_code_uri" => "#{Guildhall::HOMEPAGE}/tree/v#{Guildhall::VERSION}",
    "changelog_uri" => "#{Guildhall::HOMEPAGE}/blob/main/CHANGELOG.md", "documentation_uri" => "#{Guildhall::HOMEPAGE}/tree/main/docs",
    "bug_tracker_uri" => "#{Guildhall::HOMEPAGE}/issues", "rubygems_mfa_required" => "true"
  }
end
