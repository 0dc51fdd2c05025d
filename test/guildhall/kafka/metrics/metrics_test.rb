# frozen_string_literal: true

require "open3"
require "socket"
require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/metrics/collector"
require "guildhall/kafka/metrics/statsd"
require "guildhall/kafka/metrics/prometheus"
require "guildhall/kafka/metrics/open_telemetry"
require "datadog/statsd"
require "opentelemetry-metrics-sdk"
require "prometheus/client"

# Every metric of the list arrives in all three systems, with name, unit, tags and value.
class MetricsTest < GuildhallTest
  LIST = Guildhall::Kafka::Metrics::LIST

  def setup
    @socket = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
    @statsd = Datadog::Statsd.new("127.0.0.1", @socket.addr[1], single_thread: true)
    @prometheus = Guildhall::Kafka::Metrics::Prometheus.new(Prometheus::Client::Registry.new)
    @exporter = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new
    @provider = OpenTelemetry::SDK::Metrics::MeterProvider.new
    @provider.add_metric_reader(@exporter)
    @backends = [Guildhall::Kafka::Metrics::StatsD.new(@statsd), @prometheus, Guildhall::Kafka::Metrics::OpenTelemetry.new(@provider.meter("test"))]
  end

  def teardown
    @statsd.close
    @socket.close
    @exporter.shutdown
  end

  def test_each_metric_in_each_system
    LIST.each_with_index { |metric, index| @backends.each { |one| one.record(metric, index + 1, metric.tags.to_h { |tag| [tag, "a #{tag}"] }) } }
    expected = LIST.each_with_index.map { |metric, index| [metric.full_name, metric.type, index + 1, metric.tags.map { |tag| "a #{tag}" }] }
    assert_in_each_system(expected)
  end

  # From the event, or the sample, to each of the systems.
  def test_every_metric_comes_of_an_event_or_a_sample
    recorded = []
    recorder = Struct.new(:to) { def record(*one) = to << one }.new(recorded)
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [recorder, *@backends]).attach
    publish_everything(application.instrumentation)
    assert_empty LIST - recorded.map(&:first), "publish the event of each in publish_everything of this test"
    recorded.each { |metric, _, tags| assert_equal metric.tags, tags.keys, metric.name }
    assert_in_each_system(recorded.map { |metric, value, tags| [metric.full_name, metric.type, value, tags.values] })
  end

  # Batches are passed on by the timer, with those of others.
  def test_a_backend_that_raises_keeps_no_other_figure_back_and_is_reported_once
    recorded = []
    picky = Object.new
    picky.define_singleton_method(:record) { |metric, value, _| metric.unit == :bytes ? raise(KeyError, "no bytes") : recorded << [metric.name, value] }
    reports = []
    application = busy_application { |message| reports << message }
    waiting = []
    application.timer = Object.new.tap { |timer| timer.define_singleton_method(:after) { |_, &flush| waiting << flush } }
    others = []
    other = Struct.new(:to) { def record(metric, *) = to << metric.name }.new(others)
    Guildhall::Kafka::Metrics::Collector.new(application, [picky, other]).attach
    2.times { publish_everything(application.instrumentation) }
    waiting.each(&:call)
    assert_includes recorded, ["consumed.batches", 1]
    assert_includes recorded, ["consumed.seconds", 0.1]
    assert_includes others, "consumed.bytes"
    assert_equal ["a subscriber of metrics raised KeyError: no bytes"], reports.grep(/of metrics/).map { |one| one[/\A[^(]+\b/] }
  end

  # A scrape, or a sum over all processes, must not go on counting what another process has got.
  def test_gauges_of_a_partition_that_is_gone_become_zero
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [@prometheus]).attach
    lag = {group: "g", topic: "t", partition: 0, messages: 5, seconds: 0.5}
    application.instrumentation.publish("lag.measured", partitions: [lag, {**lag, partition: 1}])
    assert_equal [5, 0.5, 1, 2], gauges(0)
    assert_equal [0, 0], gauges(1).first(2)
    application.partitions.clear
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [])
    assert_equal [0, 0, 0, 0, 0], [*gauges(0), age(0)]
  end

  # Else an alert on lag would end with the outage that it is about.
  def test_lag_that_is_not_known_keeps_its_value_and_its_age_grows
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [@prometheus]).attach
    place = {group: "g", topic: "t", partition: 0}
    application.instrumentation.publish("lag.measured", partitions: [{**place, messages: 5, seconds: 0.5}], unknown: [])
    first = age(0)
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [place])
    assert_equal [5, 0.5, 1, 2], gauges(0)
    assert_operator age(0), :>, first
    lost = application.partitions.dup
    application.partitions.clear
    application.listeners.first.assigned = false
    second = age(0)
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [])
    assert_equal [5, 0.5, 1, 2], gauges(0)
    assert_operator age(0), :>, second
    application.listeners.first.assigned = true
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [])
    assert_equal [0, 0, 0, 0, 0], [*gauges(0), age(0)]
    application.partitions.concat(lost)
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [place])
    assert_equal [0, 0, 1, 2, 0], [*gauges(0), age(0)]
  end

  def test_a_partition_whose_dead_letters_cannot_be_sent
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [@prometheus]).attach
    measure = -> { application.instrumentation.publish("lag.measured", partitions: [], unknown: []).then { gauges(0, %w[dead_letters.blocked]) } }
    assert_equal [1], measure.call
    application.partitions.first.blocked = nil
    assert_equal [0], measure.call
    application.partitions.first.blocked = "again"
    assert_equal [1], measure.call
    application.partitions.clear
    assert_equal [0], measure.call, "it belongs to another process"
  end

  def test_a_partition_without_dead_letters_has_that_gauge_once_it_sends_messages_on
    application = busy_application
    application.partitions.first.topic.dead_letter_queue = nil
    Guildhall::Kafka::Metrics::Collector.new(application, [@prometheus]).attach
    measure = -> { application.instrumentation.publish("lag.measured", partitions: [], unknown: []).then { gauges(0, %w[dead_letters.blocked]) } }
    assert_equal [0], measure.call
    application.partitions.first.forwarding[:used?] = true
    assert_equal [1], measure.call
  end

  def test_an_outage_counts_once
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [@prometheus]).attach
    outage = {broker: "b:1", reason: "refused", advice: nil, seconds: 0.0}
    [false, true, true].each { |reminder| application.instrumentation.publish("broker.unreachable", **outage, reminder:) }
    assert_in_delta 1, @prometheus.instance_variable_get(:@registry).get(:guildhall_broker_unreachable_total).get(labels: {broker: "b:1"})
    application.instrumentation.publish("lag.measured", partitions: [], unknown: [])
    assert_in_delta 1.5, @prometheus.instance_variable_get(:@registry).get(:guildhall_broker_silence_seconds).get(labels: {group: "g"})
  end

  def test_the_sdk_of_open_telemetry_may_come_later
    assert_ruby(<<~'RUBY')
      require "guildhall/kafka"
      adapter = Guildhall::Kafka::Metrics::OpenTelemetry.new
      every = ->(value) { Guildhall::Kafka::Metrics::LIST.each { |metric| adapter.record(metric, value, metric.tags.to_h { |tag| [tag, "x"] }) } }
      every.call(1) # to nobody
      require "opentelemetry-metrics-sdk"
      exporter = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new
      provider = OpenTelemetry::SDK::Metrics::MeterProvider.new
      provider.add_metric_reader(exporter)
      OpenTelemetry.meter_provider = provider
      every.call(2)
      exporter.pull
      seen = exporter.metric_snapshots.to_h { |metric| [metric.name, metric.data_points.map { |one| metric.instrument_kind == :histogram ? one.sum : one.value }] }
      expected = Guildhall::Kafka::Metrics::LIST.to_h { |metric| [metric.full_name, [2]] }
      abort(seen.inspect) unless seen == expected
    RUBY
  end

  def test_what_cannot_take_metrics_is_refused
    adapters = Guildhall::Kafka::Metrics
    {adapters::StatsD => "client must be a Datadog::Statsd, of the gem dogstatsd-ruby", adapters::Prometheus => "registry must be a Prometheus::Client::Registry",
     adapters::OpenTelemetry => "meter must be an OpenTelemetry::Metrics::Meter",
     adapters::OpenTelemetry::Tracing => "tracer must be an OpenTelemetry::Trace::Tracer"}.each do |adapter, problem|
      error = assert_raises(Guildhall::ArgumentError) { adapter.new("none") }
      assert_operator error.message, :start_with?, "#{adapter}: #{problem}"
    end
    error = assert_raises(Guildhall::ArgumentError) { adapters::StatsD.new(@statsd, prefix: nil) }
    assert_equal "Guildhall::Kafka::Metrics::StatsD: prefix must be a String, not nil", error.message
  end

  def test_a_registry_may_have_these_metrics_but_no_others_of_their_names
    registry = Prometheus::Client::Registry.new
    2.times { Guildhall::Kafka::Metrics::Prometheus.new(registry) }
    others = [%i[gauge guildhall_errors_total type error], %i[counter guildhall_errors_total type], %i[counter guildhall_consumed_seconds group topic partition]]
    others.each do |type, name, *labels|
      other = Prometheus::Client::Registry.new.tap { |one| one.public_send(type, name, docstring: "mine", labels:) }
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Kafka::Metrics::Prometheus.new(other) }
      assert_includes error.message, "the registry has another metric #{name}, a #{type} with the labels [#{labels.join(", ")}]"
    end
  end

  # Bundler does not require a gem whose file has another name; the line that makes the client comes after the adapter's name.
  def test_the_client_of_statsd_is_there_once_the_adapter_is_named
    code = 'require "guildhall/kafka"; p defined?(Datadog::Statsd); p Guildhall::Kafka::Metrics::StatsD.new(Datadog::Statsd.new("localhost", 8125)).class'
    assert_equal "nil\nGuildhall::Kafka::Metrics::StatsD\n", assert_ruby(code)
  end

  # As of every gem that is optional: what to add is said.
  def test_a_gem_that_is_missing_is_named
    {"datadog/statsd" => "StatsD.new(host: 'localhost', port: 8125)", "prometheus/client" => "Prometheus.new",
     "opentelemetry-metrics-api" => "OpenTelemetry.new", "opentelemetry-api" => "OpenTelemetry::Tracing.new"}.each do |feature, adapter|
      code = <<~RUBY
        require "guildhall/kafka"
        missing = Module.new { define_method(:require) { |name| name == "#{feature}" ? raise(LoadError, "no") : super(name) } }
        Object.prepend(missing)
        begin
          Guildhall::Kafka::Metrics::#{adapter}
        rescue Guildhall::MissingDependencyError => error
          puts error.message
        end
      RUBY
      assert_match(/\AGuildhall::Kafka::Metrics::.* needs the gem \S+: add `gem /, assert_forked(code), feature)
    end
  end

  def test_statsd_makes_its_client
    client = Guildhall::Kafka::Metrics::StatsD.new(host: "localhost", port: 8126).instance_variable_get(:@client)
    assert_equal ["localhost", 8126], [client.host, client.port]
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Kafka::Metrics::StatsD.new(client, port: 8126) }
    assert_includes error.message, "give either a client, or host and port"
  ensure
    client&.close
  end

  # Events that are no figure, or are part of another one's.
  WITHOUT = %w[app.advised app.running app.quiet app.resumed app.stopping batch.finished broker.reachable schema_registry.reachable oauth_token.available signals.ignored
               command.finished command.received consumer.revoked consumer.shutdown consumer.threads_left dashboard.acted
               dead_letter_queue.blocked filter.waiting forwarding.blocked garbage_collection.switched key.limit_reached key.parked
               key.resumed members.changed offsets.none offsets.reset outbox.parked
               partition.abandoned partition.paused partition.resumed protocol.refused routes.overlapping statistics.emitted swarm.forked swarm.process_ended
               swarm.process_restarting swarm.process_started swarm.process_stopping swarm.running].freeze

  def test_each_event_is_a_metric_or_known_not_to_be
    application = busy_application
    Guildhall::Kafka::Metrics::Collector.new(application, [Object.new]).attach
    measured = Guildhall::Kafka::Events::NAMES.select { |name| application.instrumentation.listening?(name) }
    assert_empty Guildhall::Kafka::Events::NAMES - measured - WITHOUT, "give each a figure in lib/guildhall/kafka/metrics/collector.rb, or name it in WITHOUT"
    assert_empty measured & WITHOUT, "each has a figure: take it out of WITHOUT"
    assert_empty WITHOUT - Guildhall::Kafka::Events::NAMES, "no event is called that: take it out of WITHOUT"
    assert_equal WITHOUT.uniq, WITHOUT
  end

  # Prometheus' own linter, of Debian's package prometheus.
  def test_promtool_finds_nothing_wrong
    skip "no promtool here" unless ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, "promtool")) }

    LIST.each { |metric| @prometheus.record(metric, 1, metric.tags.to_h { |tag| [tag, "a \"#{tag}\"\n\\"] }) }
    out, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: @prometheus.text)
    assert_equal ["", true], [out, status.success?]
  end

  def test_names_keep_their_form
    LIST.each do |metric|
      assert_match(/\A[a-z_]+(\.[a-z_]+)?\z/, metric.name)
      assert_includes %i[counter gauge distribution], metric.type
      refute_match(/\.\z/, metric.description)
    end
  end

  private

  def age(partition) = gauges(partition, %w[lag.age_seconds]).first

  def gauges(partition, names = %w[lag.messages lag.seconds parked.keys parked.messages])
    labels = {group: "g", topic: "t", partition: partition.to_s}
    names.map do |name|
      name = Guildhall::Kafka::Metrics::Prometheus.name_of(Guildhall::Kafka::Metrics::BY_NAME.fetch(name))
      @prometheus.instance_variable_get(:@registry).get(name).get(labels:)
    end
  end

  # @param samples [Array<Array(String, Symbol, Numeric, Array)>] name, type, value and values of tags of what was recorded
  def assert_in_each_system(samples)
    expected = totals(samples)
    assert_equal LIST.size, expected.size
    {"StatsD" => statsd, "Prometheus" => prometheus, "OpenTelemetry" => open_telemetry}.each do |system, seen|
      assert_equal expected, totals(seen), system
    end
  end

  # No gauge is set twice with the same tags here, so that a sum is a value of every type.
  def totals(samples)
    samples.group_by(&:first).sort.to_h do |name, ones|
      [name, [ones.first[1], ones.sum { |one| one[2].to_f }.round(9), ones.flat_map(&:last).map(&:to_s).uniq.sort]]
    end
  end

  # Lines of several metrics come in one packet: name:value|type|#tag:value,…
  def statsd
    @statsd.flush(sync: true)
    types = {"c" => :counter, "g" => :gauge, "d" => :distribution}
    received.map do |line|
      name, value, type, tags = line.match(/\A([^:]+):([^|]+)\|(\w)(?:\|#(.*))?\z/).captures
      [name, types.fetch(type), Float(value), tags.to_s.split(",").map { |tag| tag.split(":", 2).last }]
    end.reject { |name,| name.start_with?("datadog.") }
  end

  def received
    lines = []
    lines.concat(@socket.recv(65_536).split("\n")) while @socket.wait_readable(0.2)
    lines
  end

  # By the format's own rules, one line a sample.
  def prometheus
    types, samples = parse(@prometheus.text)
    LIST.flat_map do |metric|
      name = Guildhall::Kafka::Metrics::Prometheus.name_of(metric).to_s
      type = {"counter" => :counter, "gauge" => :gauge, "histogram" => :distribution}.fetch(types.fetch(name))
      samples.fetch(type == :distribution ? "#{name}_sum" : name).map { |labels, value| [metric.full_name, type, value, labels] }
    end
  end

  def parse(text)
    types = text.scan(/^# TYPE (\S+) (\S+)$/).to_h
    samples = text.scan(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/).group_by(&:first)
    [types, samples.transform_values { |ones| ones.map { |_, labels, value| [labels.to_s.scan(/="([^"]*)"/).flatten, Float(value)] } }]
  end

  def open_telemetry
    @exporter.pull
    @exporter.metric_snapshots.flat_map do |metric|
      type = {counter: :counter, gauge: :gauge, histogram: :distribution}.fetch(metric.instrument_kind)
      assert_equal unit(metric.name), metric.unit
      metric.data_points.map { |point| [metric.name, type, type == :distribution ? point.sum : point.value, point.attributes.values] }
    end
  end

  def unit(name)
    unit = LIST.find { |metric| metric.full_name == name }.unit
    {seconds: "s", bytes: "By", ratio: "1"}.fetch(unit, "{#{unit}}")
  end

  def busy_application(&report)
    stats = {workers: 2, busy: 1, queued: 3, inlined: 4, by_workers: 5, deaths: 1, breaker_open: false, wait_seconds: {p50: 0.1}, run_seconds: {p50: 0.2}}
    pool = Struct.new(:stats).new(stats)
    flight = Struct.new(:messages, :bytes).new(1, 2)
    runners = Struct.new(:busy, :waiting).new(1, 0)
    events = Guildhall::Instrumentation.new(Guildhall::Kafka::Events::NAMES, &report || ->(message) { flunk(message) })
    listener = Struct.new(:group, :leaving?, :answers, :assigned).new("g", false, Struct.new(:seconds).new(1.5), true)
    listener.define_singleton_method(:assigned?) { assigned }
    topic = Struct.new(:group, :dead_letter_queue).new("g", true)
    partition = Struct.new(:topic, :name, :number, :parked_keys, :blocked, :forwarding).new(topic, "t", 0, Struct.new(:counts).new([1, 2]), "topic dead cannot be written", Struct.new(:used?).new(false))
    application = Struct.new(:instrumentation, :partitions, :listeners, :backpressure, :runners, :pool_in_use, :producer_queue, :timer)
    application.new(events, [partition], [listener], flight, runners, pool, 7)
  end

  def publish_everything(events)
    place = {group: "g", topic: "t", partition: 0} # tags in the order of the list
    events.publish("broker.unreachable", broker: "b:1", reason: "refused", advice: nil, seconds: 0.0, reminder: false)
    events.publish("oauth_token.unavailable", servers: "b:1", error: nil, reason: "down", seconds: 0.0, left: 5.0, reminder: false)
    events.publish("schema_registry.unreachable", registry: "http://r:1", reason: "503", seconds: 0.0, reminder: false)
    events.publish("consumer.consumed", **place, size: 1, read: 2, dropped: 1, bytes: 9, seconds: 0.1, waited: 0.2, last_offset: 1)
    events.publish("consumer.skipped", **place, read: 2, dropped: 2, bytes: 9)
    events.publish("consumer.retrying", **place, offset: 1, attempt: 1, seconds: 1)
    events.publish("filter.rejected", **place, filter: "deduplicate", count: 3)
    events.publish("retry_topic.dispatched", **place, offset: 1, to: "retry", error_class: "KeyError")
    events.publish("dead_letter_queue.dispatched", **place, offset: 1, to: "dead", error_class: "KeyError")
    events.publish("error.occurred", error: KeyError.new, type: "consumer.consume")
    events.publish("rebalance.partitions_assigned", group: "g", partitions: [])
    events.publish("rebalance.partitions_revoked", group: "g", partitions: [], lost: true)
    events.publish("offsets.committed", group: "g", seconds: 0.1, error: nil)
    events.publish("transaction.committed", **place, seconds: 0.1)
    events.publish("transaction.aborted", **place, error_class: "KeyError")
    events.publish("schedule.ran", group: "g", task: "nightly", due: Time.now, seconds: 0.1, error_class: nil)
    events.publish("garbage_collection.run", reason: :memory, seconds: 0.1, put_off: 2)
    events.publish("partition.stalled", **place, position: 1, end_offset: 2, action: :seek)
    events.publish("messages.produced", topic: nil, size: 1, bytes: 2, seconds: 0.1, sync: true)
    events.publish("outbox.sent", topic: "t", size: 2)
    events.publish("outbox.measured", messages: 3, seconds: 0.5, parked: 1)
    events.publish("batch.measured", open: 2, jobs: 9, seconds: 0.5)
    events.publish("lag.measured", partitions: [{**place, messages: 1, seconds: 0.5}], unknown: [])
  end
end
