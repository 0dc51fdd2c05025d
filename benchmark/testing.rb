# frozen_string_literal: true

# Ten tests of a consumer, with Guildhall::Kafka::Testing and with the gem karafka-testing: lines, and milliseconds of a test (of
# computing, so that a busy machine does not count). Each kind runs in a process of its own, eleven times; the first is left out, the
# median of the others counts. The gem is no gem of the bundle:
#
#     gem install -i /tmp/karafka-testing karafka-testing
#     KARAFKA_TESTING=/tmp/karafka-testing bin/bench testing
require "open3"
require "rbconfig"

RUN = <<~'RUBY'
  Warning[:experimental] = false
  $VERBOSE = nil
  $LOAD_PATH.concat(Dir["#{ENV["KARAFKA_TESTING"]}/gems/karafka-testing-*/lib"])
  require "minitest"
  load ARGV.first
  klass = Minitest::Test.subclasses.find { |one| one.name }
  names = klass.public_instance_methods(true).grep(/\Atest_/).sort
  abort("ten tests, not #{names.size}") unless names.size == 10
  took = Array.new(11) do
    began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    names.each { |name| klass.new(name).run.then { |result| result.passed? || abort("#{name}: #{result.failures.first.message}") } }
    (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began) * 100
  end
  puts took.drop(1).sort[5]
  $stdout.flush
  exit!(0)
RUBY

rows = {"Guildhall" => "with_guildhall", "karafka-testing" => "with_karafka"}.filter_map do |name, file|
  path = File.join(__dir__, "testing", "#{file}.rb")
  if file == "with_karafka" && !ENV["KARAFKA_TESTING"]
    next warn("KARAFKA_TESTING names no folder with the gem karafka-testing: it is left out")
  end

  out, status = Open3.capture2e(RbConfig.ruby, "-e", RUN, path)
  abort(out) unless status.success?
  tests = File.readlines(path, chomp: true).drop_while { |line| line.strip != "# begin" }.take_while { |line| line.strip != "# end" }.drop(1)
  [name, tests.count { |line| !line.strip.empty? && !line.strip.start_with?("#") }, out.lines.last.to_f]
end
puts format("%-16s %8s %14s", "", "lines", "ms of a test")
rows.each { |name, lines, milliseconds| puts format("%-16s %8d %14.2f", name, lines, milliseconds) }
