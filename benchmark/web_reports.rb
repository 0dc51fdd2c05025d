# frozen_string_literal: true

# How long the dashboard's pages take, and how much memory its process needs, by the number of processes that report, and of partitions that each reports:
# bin/console benchmark/web_reports.rb [PROCESSES [PARTITIONS]]
$LOAD_PATH.unshift(File.expand_path("../test", __dir__))
require "rack/mock_request"
require "guildhall/kafka/reporting/process_memory"
require "support/recorded_cluster"
require "support/recorded_reports"

PROCESSES, PARTITIONS = [200, 100].each_with_index.map { |default, index| Integer(ARGV.fetch(index, default)) }
ROUNDS = 200
# Of this process: others on the machine do not count. WALL=1: as somebody waits for it.
CLOCK = ENV["WALL"] ? Process::CLOCK_MONOTONIC : Process::CLOCK_PROCESS_CPUTIME_ID
MEMORY = -> { Guildhall::Kafka::Reporting::ProcessMemory.resident / 1_048_576.0 }

application = Guildhall::Kafka::Application.new
application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
web = Guildhall::Web.new(application:, authorize: ->(*) { true })
cluster = RecordedCluster.new
web.define_singleton_method(:cluster) { cluster }
cluster.define_singleton_method(:groups) { Guildhall::Kafka::Broker::Answer.new([group("shop")], []) }
cluster.define_singleton_method(:lag) { |_ = nil| Guildhall::Kafka::Broker::Answer.new([], []) }
before = MEMORY.call
cluster.reported = RecordedReports.large(processes: PROCESSES, partitions: PARTITIONS)
GC.start
raise "not all processes are there" unless cluster.reports.live.size == PROCESSES
raise "not all partitions are there" unless cluster.reports.topics.sum(&:partitions) == PROCESSES * PARTITIONS

puts "#{PROCESSES} processes with #{PARTITIONS} partitions each, an hour of minutes, Ruby #{RUBY_VERSION}#{" with YJIT" if RubyVM::YJIT.enabled?}"
puts format("%-32s %8s %8s %8s %10s", ENV["WALL"] ? "page" : "page, by CPU time", "p50", "p99", "most", "HTML")
["/", "/groups", "/groups/shop", "/groups/shop/orders", "/groups/shop/orders/7", "/processes", "/processes/shop-consumer-1%3A11%3Aa", "/errors", "/pool", "/status"].each do |path|
  bytes = 0
  times = Array.new(ROUNDS) do
    began = Process.clock_gettime(CLOCK)
    response = Rack::MockRequest.new(web).get(path)
    raise "#{path}: #{response.status}" unless response.status == 200

    bytes = response.body.bytesize
    Process.clock_gettime(CLOCK) - began
  end.drop(10).sort
  puts format("%-32s %5.1f ms %5.1f ms %5.1f ms %7.1f KB", path, *[times[times.size / 2], times[(times.size * 0.99).floor], times.last].map { |time| time * 1000 }, bytes / 1000.0)
end
GC.start
puts format("memory of this process: %.0f MiB, %.0f MiB before the reports (with the generator of both)", MEMORY.call, before)
