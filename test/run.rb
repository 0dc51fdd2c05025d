# frozen_string_literal: true

# What the tests read is UTF-8, also where no LANG is set. Their child processes have the encoding that users would have there.
Encoding.default_external = Encoding::UTF_8

require "optparse"
require_relative "support/sanitizers"
Sanitizers.preload(ARGV) unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?
root = File.expand_path("..", __dir__)
chosen = {stress: false, integration: false, name: nil, processes: nil, seed: nil, coverage: false, verbose: false, soak: nil, rate: nil, protocol: nil}
parser = OptionParser.new do |options|
  options.banner = "usage: bin/test [PATH…] [-n NAME] [--integration | --stress | --soak MINUTES]"
  options.separator("Without PATH: all tests but stress and cross (bin/rake cross). A PATH is a test file or a folder of them.")
  options.on("-n", "--name NAME", "only tests whose name is NAME or matches /NAME/") { |name| chosen[:name] = name }
  options.on("--integration", "only the integration scenarios (a process each, on a broker)") { chosen[:integration] = true }
  options.on("--stress", "only the stress tests: minutes of it") { chosen[:stress] = true }
  options.on("--soak MINUTES", Float, "no tests: everything at once on three brokers that fail, with an account (needs KAFKA_BROKER_CONTROL)") do |minutes|
    chosen[:soak] = minutes
  end
  options.on("--rate N", Integer, "of a soak: messages a second (500)") { |rate| chosen[:rate] = rate }
  options.on("--protocol NAME", %i[consumer classic], "of a soak's group: consumer (unless set) or classic") { |name| chosen[:protocol] = name }
  options.on("--sanitize", "with the extensions built for AddressSanitizer and UndefinedBehaviorSanitizer") { nil }
  options.on("-j", "--processes N", Integer, "at most N test classes at the same time; 1: all in this process") { |count| chosen[:processes] = count }
  options.on("--coverage", "write down which lines of lib each test file runs, for bin/rake tests:table") { chosen[:coverage] = true }
  options.on("--seed N", Integer, "the order, or the faults, of an earlier run") { |seed| chosen[:seed] = seed }
  options.on("-v", "--verbose", "name each test as it runs, and show the warnings of other gems") { chosen[:verbose] = true }
end
ORIGINAL = ARGV.dup.freeze
begin
  paths = parser.parse(ARGV)
  %i[soak rate].each { |name| raise OptionParser::InvalidArgument, "--#{name} takes a number above 0" if chosen[name]&.<=(0) }
rescue OptionParser::ParseError => error
  warn("bin/test: #{error.message}", parser)
  exit(2)
end
if chosen[:soak]
  $LOAD_PATH.unshift(__dir__)
  require "soak/soak"
  exit(Soaking::Soak.new(minutes: chosen[:soak], **chosen.slice(:rate, :seed, :protocol).compact).run)
end
missing = paths.reject { |path| File.exist?(path) }
if missing.any?
  warn("bin/test: no such file or folder: #{missing.join(", ")}")
  exit(2)
end

files = paths.flat_map { |path| File.directory?(path) ? Dir[File.join(path, "**/*_test.rb")] : [path] }
files.map! { |path| File.expand_path(path) }
if files.empty?
  kinds = Dir[File.join(root, "test/**/*_test.rb")].group_by { |path| path[%r{test/(stress|integration|cross)/}, 1] }
  files = if chosen[:stress] then kinds["stress"]
          elsif chosen[:integration] then kinds["integration"]
          else kinds.values_at(nil, "integration").compact.flatten
          end
end
ENV["GUILDHALL_SHOW_WARNINGS"] = "1" if chosen[:verbose]
if chosen[:coverage] && !ENV.key?("COVERAGE_FOLDER") # it begins before anything else, and in all processes
  require "fileutils"
  require_relative "../tool/tested_by"
  FileUtils.rm_rf(TestedBy::FOLDER)
  FileUtils.mkdir_p(TestedBy::FOLDER)
  coverage = {"COVERAGE_FOLDER" => TestedBy::FOLDER, "RUBYOPT" => "#{ENV.fetch("RUBYOPT", "")} -r#{File.join(root, "tool/line_coverage")}"}
  exec(coverage, RbConfig.ruby, __FILE__, *ORIGINAL)
end
$LOAD_PATH.unshift(__dir__)
require "test_helper"
require "support/progress"
require "support/test_processes"
Progress.install
Minitest.singleton_class.prepend(TestProcesses::Plugin)
Minitest.processes = chosen[:processes] || (chosen[:stress] ? 1 : TestProcesses::DEFAULT) # stress tests fill the machine
files.to_a.sort.each { |file| require file }
arguments = []
arguments.push("-n", chosen[:name]) if chosen[:name]
arguments.push("--seed", chosen[:seed].to_s) if chosen[:seed]
arguments << "--verbose" if chosen[:verbose]
puts "Ruby #{RUBY_VERSION} (#{RUBY_PLATFORM})#{", Kafka at #{ENV["KAFKA_BOOTSTRAP_SERVERS"]}" if ENV["KAFKA_BOOTSTRAP_SERVERS"]}"
exit(Minitest.run(arguments) || false)
