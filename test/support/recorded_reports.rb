# frozen_string_literal: true

require "json"
require "zlib"
require "guildhall/web"
require_relative "plain_record"

# Records as processes write them to the topic of reports, and what a page makes of them. Times are relative to now.
class RecordedReports
  Store = Guildhall::Web::Reports::Store
  TOPIC = "guildhall.reports"
  PARTITIONS = {"state" => 0, "minute" => 1, "event" => 2, "error" => 2}.freeze
  OUTAGE = {"error_class" => "Stripe::APIConnectionError", "message" => "Connection refused - connect(2) for api.stripe.com:443",
            "place" => "app/consumers/payments_consumer.rb:31", "kind" => "outage", "failures" => 7, "offset" => 7_904_112, "since" => 400.0, "last" => 22.0,
            "now" => true}.freeze
  COUNTED = {"error_class" => "KeyError", "message" => "key not found: \"price\"", "place" => "app/consumers/orders_consumer.rb:12", "kind" => "counted",
             "failures" => 2, "offset" => 4711, "since" => 75.0, "last" => 3.0, "now" => true}.freeze
  ROW = {"state" => "waiting", "attempt" => 1, "position" => 8_441_006, "committed" => 8_441_006, "end_offset" => 8_441_006, "lag" => 0, "age" => 0.0,
         "in_memory" => 0, "assigned" => 660.0, "member" => 1}.freeze
  # Each state that a partition may have.
  ROWS = {
    stalled: {"state" => "stalled", "lag" => 8_214, "age" => 253.0, "position" => 8_120_455, "end_offset" => 8_128_669,
              "stalled" => {"position" => 8_120_455, "since" => 253.0, "tried" => %w[seek rejoin]}},
    backoff: {"state" => "backoff", "lag" => 19_480, "age" => 400.0, "attempt" => 7, "position" => 7_904_112, "end_offset" => 7_923_592,
              "rests" => {"backoff" => {"since" => 22.0, "left" => 38.2}}, "error" => OUTAGE},
    retrying: {"state" => "backoff", "lag" => 12, "age" => 80.0, "attempt" => 3, "rests" => {"backoff" => {"since" => 3.0, "left" => 12.0}}, "error" => COUNTED,
               "isolating" => [4711, 4750]},
    keys: {"state" => "keys", "lag" => 193, "age" => 52.0, "rests" => {"keys" => {"since" => 12.0}}, "done_behind" => 1_300,
           "ranges" => [[8_441_007, 8_441_900], [8_441_950, 8_442_355]],
           "parked" => {"keys" => 3, "messages" => 41, "full" => true, "oldest" => [
             {"key" => "cus_8812", "offset" => 8_441_006, "messages" => 30, "age" => 52.0, "attempt" => 3, "left" => 9.0, "error" => COUNTED},
             {"key" => "cus_17", "offset" => 8_441_040, "messages" => 10, "age" => 40.0, "attempt" => 2, "left" => 4.0, "error" => COUNTED},
             {"offset" => 8_441_060, "messages" => 1, "age" => 31.0, "attempt" => 1}
           ]}},
    parked: {"state" => "working", "lag" => 3, "age" => 5.0, "parked" => {"keys" => 1, "messages" => 1, "oldest" => [{"key" => "k", "offset" => 7, "messages" => 1, "attempt" => 2}]}},
    paused: {"state" => "paused", "lag" => 96, "age" => 3.0, "rests" => {"user" => {"since" => 60.0, "left" => 120.0}}},
    filter: {"state" => "filter", "lag" => 96, "age" => 300.5, "rests" => {"filter" => {"since" => 60.0, "left" => 120.0}}},
    quiet: {"state" => "quiet", "rests" => {"quiet" => {"since" => 60.0}}},
    blocked: {"state" => "blocked", "lag" => 4, "age" => 70.0, "blocked" => "shop.dead: MSG_SIZE_TOO_LARGE: the message is too large for the topic"},
    denied: {"state" => "denied", "lag" => 4, "age" => 70.0, "denied" => "TOPIC_AUTHORIZATION_FAILED: grant READ on topic orders"},
    sending: {"state" => "sending", "lag" => 4, "age" => 2.0, "rests" => {"forwarding" => {"since" => 1.0}}},
    working: {"state" => "working", "lag" => 118, "age" => 1.9, "in_memory" => 212, "without_progress" => 0.4},
    slow: {"state" => "working", "lag" => 30, "age" => 75.0, "in_memory" => 30, "without_progress" => 72.0},
    queued: {"state" => "queued", "lag" => 30, "age" => 12.0, "in_memory" => 30, "without_progress" => 11.0},
    behind: {"state" => "working", "lag" => 30_000, "age" => 700.0, "in_memory" => 500},
    transaction: {"state" => "working", "lag" => 5, "age" => 0.8, "transaction" => {"open" => 2.1, "committed" => 412, "aborted" => 7}},
    seeking: {"state" => "seeking"}, leaving: {"state" => "leaving"}, waiting: {}
  }.freeze

  attr_reader :store
  # @return [Float] when they were recorded: for the store, time stands still
  attr_reader :now

  def initialize(phase: :live, limits: Guildhall::Kafka::Reporting::Limits::DEFAULT)
    clock = Process.clock_gettime(Process::CLOCK_REALTIME)
    @now = now = [clock, ((clock / 60).floor * 60) + 2.0].max # what was recorded 61 seconds ago is always of the minute before
    @store = Store.new(limits)
    @store.define_singleton_method(:clock) { now }
    @store.phase = phase
    @offsets = Hash.new(-1)
    @seq = Hash.new(0)
  end

  def self.row(name, partition) = {"partition" => partition, **ROW, **ROWS.fetch(name)}

  def view = @store.view

  # @param ago [Numeric] seconds
  # @param fresh [Boolean] whether it is read as soon as it is written
  def write(data, ago: 0, fresh: false)
    @store.take(record(data, ago:), live: fresh)
  end

  def record(data, ago: 0)
    fields = data.is_a?(Hash) ? data : {}
    partition = PARTITIONS.fetch(fields["kind"], 0)
    PlainRecord.new(topic: TOPIC, partition:, offset: @offsets[partition] += 1, timestamp_ms: ((now - ago) * 1000).to_i, key: fields["process"],
      raw_payload: Zlib.deflate(JSON.generate(data), 1), headers: {"guildhall" => "1", "content-encoding" => "deflate"})
  end

  def any(kind, process, ago) = {"v" => 1, "kind" => kind, "app" => "shop", "process" => process, "at" => (now - ago).round(3), "release" => "4f1c2e9"}

  # @param topics [Hash{Array(String, String)=>Array<Hash>}] by group and topic rows of partitions
  # @param consumer [String, nil] of all of them
  def state(process, topics = {}, ago: 2, fresh: false, consumer: nil, **more)
    host, pid = process.split(":")
    number = pid.to_i
    report = {
      **any("state", process, ago), "seq" => @seq[process] += 2, "every" => 10, "state" => "running", "guildhall" => Guildhall::VERSION, "ruby" => "4.0.5",
                                    "started" => now - ago - 660, "host" => host, "pid" => number, "live" => [], "ready" => [], "rss" => (390 + (number % 17)) << 20, "rss_limit" => 838 << 20,
                                    "cpu" => 300.0 - (ago * 0.71), "gc" => 20.0 - (ago * 0.06), "threads" => 31, "runners" => {"all" => 10, "busy" => number % 10, "waiting" => 0},
                                    "flight" => {"messages" => 1_420, "bytes" => 1_900_000, "max_messages" => 100_000, "max_bytes" => 100_000_000}, "producer" => {"queued" => 0},
                                    "pool" => {"workers" => 2, "busy" => 1, "queued" => 0, "inline" => 1_204, "by_workers" => 3_311, "deaths" => 0, "breaker_open" => false,
                                               "wait" => {"p50" => 0.0002, "p99" => 0.0031}, "run" => {"p50" => 0.0011, "p99" => 0.0094},
                                               "tasks" => [{"task" => "JSON.lazy >> select(paid)", "bytes" => 1_800, "payloads" => 91_000, "gain" => 1.7, "parallel" => true}]},
                                    "groups" => topics.keys.map(&:first).uniq.map { |group| {"group" => group, "assigned" => true, "members" => [member]} },
                                    "topics" => topics.map { |(group, topic), rows| {**self.class.topic(group, topic, rows), **{"consumer" => consumer}.compact} }, **more.transform_keys(&:to_s)
    }
    before = report["topics"].map { |topic| {**topic, "partitions" => topic["partitions"].grep(Hash).map { |row| {**row, "position" => row["position"].to_i - 1_200} }} }
    write({**report.compact, "cpu" => report["cpu"] - 7.1, "gc" => report["gc"] - 0.6, "at" => report["at"] - 10, "seq" => report["seq"] - 1, "topics" => before}, ago: ago + 10)
    write(report.compact, ago:, fresh:)
  end

  def member(**more)
    {"number" => 1, "polled" => 0.1, "silence" => 0.3, "answered" => true, "partitions" => 6, "rebalances" => 2, "commits" => 4_100, "failed_commits" => 0, "lost" => 0,
     **more.transform_keys(&:to_s)}
  end

  def self.topic(group, topic, rows)
    {"topic" => topic, "group" => group, "consumer" => "#{topic.capitalize}Consumer", "dead_letter_topic" => "#{topic}.dead", "max_retries" => 3,
     "decoded_by" => "on_workers", "partitions" => rows}
  end

  # @param topics [Hash{Array(String, String)=>Hash}]
  def minute(process, topics = {}, ago: 60, **more)
    write({**any("minute", process, ago), "rss" => 390 << 20, "cpu" => 42.0, "gc" => 3.6, "seconds" => 60.0, "busy" => 6.2, "runners" => 10,
           "topics" => topics.map { |(group, topic), counts| {"group" => group, "topic" => topic, "consumed" => 0, "bytes" => 0, "dropped" => 0, "rejected" => 0, "retries" => 0, "dead" => 0, "errors" => 0, "lag" => 0, "age" => 0.0, **counts} },
           **more.transform_keys(&:to_s)}, ago:)
  end

  def event(process, name, text, ago: 60, **more)
    write({**any("event", process, ago), "name" => name, "text" => text, **more.transform_keys(&:to_s)}, ago:)
  end

  def error(process, fingerprint, error, ago: 60, **more)
    write({**any("error", process, ago), "fingerprint" => fingerprint, "type" => "consumer", "class" => error["error_class"], "message" => error["message"], "place" => error["place"],
           "backtrace" => ["#{error["place"]}:in 'consume'", "app/consumers/base.rb:7:in 'call'"], "outage" => error["kind"] == "outage", "count" => 3, "first" => now - ago - 5,
           "last" => now - ago, **more.transform_keys(&:to_s)}, ago:)
  end

  # A shop on a bad night: what the mock-ups show.
  def self.shop = new.tap(&:shop)

  def shop
    rows = ->(*names, from: 0) { names.each_with_index.map { |name, index| self.class.row(name, from + index) } }
    hours("shop-consumer-6f9d-d7m1:17:a")
    state("shop-consumer-6f9d-9kx2:17:a", {%w[shop orders] => rows.call(:working, :working, from: 6), %w[shop emails] => rows.call(:working, from: 8)}, ago: 452,
      rss: 812 << 20, started: now - 8_200)
    60.downto(1) { |number| %w[4zqp h2w8 t5ra x2lq p90c].each { |name| minute("shop-consumer-6f9d-#{name}:17:a", ago: (number * 60) + 1) } }
    60.downto(8) { |number| minute("shop-consumer-6f9d-9kx2:17:a", ago: (number * 60) + 1, rss: (812 - (9 * number)) << 20) }
    state("shop-consumer-6f9d-4zqp:17:a", {%w[shop payments] => [self.class.row(:stalled, 3), self.class.row(:backoff, 4)], %w[shop orders] => rows.call(:working, :waiting)},
      live: [{"code" => "stalled", "text" => "payments/3 is stalled"}])
    state("shop-consumer-6f9d-d7m1:17:a", {%w[shop payments] => [self.class.row(:backoff, 1)], %w[shop-orders orders] => rows.call(:keys, :parked, :retrying),
                                           %w[shop emails] => rows.call(:slow, :queued, :behind)})
    state("shop-consumer-6f9d-h2w8:17:a", {%w[shop payments] => [self.class.row(:backoff, 5), self.class.row(:paused, 2)], %w[webhooks webhooks] => rows.call(:filter, :sending, :blocked, :denied),
                                           %w[shop orders] => rows.call(:working, :working, from: 6), %w[shop emails] => rows.call(:working, from: 8)})
    state("shop-consumer-6f9d-t5ra:17:a", {%w[shop payments] => rows.call(:working), %w[webhooks webhooks] => rows.call(:transaction, :seeking, :leaving, from: 4)}, release: "a03b771")
    state("shop-consumer-6f9d-x2lq:17:a", {%w[shop orders] => rows.call(:quiet, :quiet, from: 10)}, state: "quiet", ready: [{"code" => "draining", "text" => "draining"}])
    state("shop-consumer-6f9d-p90c:17:a", {%w[shop default] => rows.call(:working, :waiting)}, guildhall: "0.0.1", consumer: "Guildhall::Kafka::ActiveJob::Consumer")
    error("shop-consumer-6f9d-d7m1:17:a", "aa11", OUTAGE, ago: 400, group: "shop", topic: "payments", partition: 1, offset: 7_904_112, attempt: 1)
    error("shop-consumer-6f9d-d7m1:17:a", "bb22", COUNTED, ago: 600, group: "shop-orders", topic: "orders", partition: 2, offset: 4711, attempt: 3, count: 209)
    [[3_000, "started", "release a03b771 started", {release: "a03b771"}], [634, "started", "release 4f1c2e9 started", {}], [764, "task_failed", "task daily report failed after 3.9 s: Net::ReadTimeout", {group: "shop.schedule"}],
     [407, "rebalanced", "group shop rebalanced: 36 partitions, 6 members, 0.8 s", {group: "shop"}], [253, "stalled", "payments/3 makes no progress", {group: "shop", topic: "payments", partition: 3}],
     [180, "outcome", "quiet, asked by ada@shop.example: keep it for a heap dump", {action: "quiet", outcome: "done", by: "ada@shop.example"}]].each do |ago, name, text, more|
      event("shop-consumer-6f9d-d7m1:17:a", name, text, ago:, **more)
    end
  end

  # An hour of minutes, of which the last seven are bad.
  def hours(process)
    60.downto(1) do |number|
      bad = [7 - number, 0].max
      minute(process, {%w[shop payments] => {"consumed" => 70_000 - (bad * 5_000), "lag" => 60 + (bad * 6_000), "age" => 0.8 + (bad * 60), "errors" => bad.positive? ? 61 : number % 3},
                       %w[shop-orders orders] => {"consumed" => 30_000, "lag" => 20 + (number % 9), "age" => 1.0 + (number % 5), "dead" => bad.positive? ? 30 : 0},
                       %w[webhooks webhooks] => {"consumed" => 140_000 + (number % 7 * 1_000), "lag" => 38, "age" => 0.8}}, ago: (number * 60) + 1, rss: (390 + (60 - number)) << 20)
    end
  end

  # Everything is fine.
  def self.calm
    new.tap do |reports|
      2.times do |index|
        60.downto(1) { |number| reports.minute("shop-#{index}:7:a", {%w[shop orders] => {"consumed" => 1_000, "lag" => 3, "age" => 0.8}}, ago: (number * 60) + 1) }
        reports.state("shop-#{index}:7:a", {%w[shop orders] => [row(:working, index), row(:waiting, index + 2)]})
      end
    end
  end

  # @param partitions [Integer] of each process, of six topics
  def self.large(processes: 200, partitions: 100, minutes: 60, trouble: 3)
    new.tap { |reports| reports.large(processes, partitions, minutes, trouble) }
  end

  def large(processes, partitions, minutes, trouble)
    topics = %w[orders payments emails invoices webhooks audit]
    processes.times do |process|
      name = "shop-consumer-#{process}:#{process + 10}:a"
      minutes.downto(1) { |number| minute(name, topics.to_h { |topic| [["shop", topic], {"consumed" => 600 + number, "lag" => number, "age" => 0.1 * number}] }, ago: (number * 60) + 1) }
      found = topics.each_with_index.to_h do |topic, index|
        count = ((partitions - 1 - index) / topics.size) + 1
        [["shop", topic], Array.new(count) { |number| self.class.row(process < trouble && number == 1 ? :backoff : :working, (process * count) + number) }]
      end
      [12, 2].each { |ago| state(name, found, ago:) }
    end
  end
end
