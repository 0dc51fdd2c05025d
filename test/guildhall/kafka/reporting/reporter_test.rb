# frozen_string_literal: true

require "json"
require "zlib"
require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaReporterTest < GuildhallTest
  Reporter = Guildhall::Kafka::Reporting::Reporter

  class Handles < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        raise "SECRET word" if message.raw_payload == "bad"
        raise IOError, "no bank" if message.raw_payload == "outage"
      end
    end
  end

  def with_application(reports: true, partitions: 3, **settings)
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("orders", partitions:)
      application = Guildhall::Kafka::Application.new(lag_interval: 0.2)
      application.config.kafka = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": "earliest"}
      application.config.logger = nil
      application.config.reports = reports
      application.config.release = "v7"
      settings.each { |name, value| application.config.public_send(:"#{name}=", value) }
      application.routes.draw { topic("orders") { consumer(Handles) } }
      yield application, broker
    ensure
      application&.stop(timeout: 5)
    end
  end

  def produce(application, *payloads)
    payloads.each_with_index { |payload, partition| application.producer.produce_sync(topic: "orders", payload:, partition:) }
  end

  # @return [Array<Hash{String=>Object}>] in order within each kind
  def records(application, topic = "guildhall.reports")
    [].tap do |records|
      application.each_message(topic) do |message|
        assert_equal({"guildhall" => "1", "content-encoding" => "deflate"}, message.headers)
        record = JSON.parse(Zlib::Inflate.inflate(message.raw_payload))
        assert_equal [record["process"], {"state" => 0, "minute" => 1}.fetch(record["kind"], 2)], [message.key, message.partition]
        records << record
      end
    rescue Guildhall::Kafka::UnknownTopicError
      records.clear # it is not there yet
    end
  end

  def of_kind(records, kind) = records.select { |one| one["kind"] == kind }

  def test_what_a_process_reports_from_its_start_to_its_end
    with_application do |application|
      application.start
      produce(application, "good", "bad", "outage")
      eventually { of_kind(records(application), "error").size == 2 }
      eventually { of_kind(records(application), "state").any? { |state| state["topics"][0]["partitions"].count { |row| row.dig("error", "now") } == 2 } }
      application.quiet
      eventually { of_kind(records(application), "state").last["state"] == "quiet" }
      application.stop
      all = records(application)
      assert_equal [[1, "guildhall", "v7", application.report["process"]]], all.map { |one| one.values_at("v", "app", "release", "process") }.uniq

      states = of_kind(all, "state")
      assert_equal (1..states.size).to_a, states.map { |state| state["seq"] }
      assert_equal [10], states.map { |state| state["every"] }.uniq
      assert_equal %w[running quiet stopped], states.map { |state| state["state"] }.uniq - ["stopping"]
      assert_operator states.size, :<, 12

      events = of_kind(all, "event")
      assert_equal %w[started rebalanced stopping rebalanced stopped], events.map { |event| event["name"] }
      assert_equal ["guildhall", %w[orders/0 orders/1 orders/2]], events[1].values_at("group", "partitions").then { |group, places| [group, places.sort] }
      assert_equal "Guildhall #{Guildhall::VERSION} consumes orders as group guildhall; Ruby #{RUBY_VERSION}", events[0]["text"]

      errors = of_kind(all, "error").uniq { |error| error["fingerprint"] }.to_h { |error| [error["class"], error] }
      bad = errors.fetch("RuntimeError")
      assert_equal ["consumer.consume", "SECRET word", "guildhall", "orders", 1, 0, 1, nil],
        bad.values_at("type", "message", "group", "topic", "partition", "offset", "attempt", "outage")
      assert_match(%r{\Atest/guildhall/kafka/reporting/reporter_test.rb:\d+\z}, bad["place"])
      assert_match(/\A[0-9a-f]{16}\z/, bad["fingerprint"])
      assert_operator bad["backtrace"].size, :<=, 20
      assert bad["first"].between?(bad["last"] - 10, bad["last"])
      assert_equal [true, 2], errors.fetch("IOError").values_at("outage", "partition")

      minute = of_kind(all, "minute").fetch(0)
      topic = minute["topics"].fetch(0)
      assert_equal ["guildhall", "orders", 1, 4, 0, 0, 0], topic.values_at("group", "topic", "consumed", "bytes", "dropped", "rejected", "dead")
      assert_operator topic["errors"], :>=, 2
      assert_operator topic["retries"], :>=, 2
      assert_includes [0, 2], topic["lag"] # once they are given up, they count where they are consumed then
      assert_operator topic["age"], :>, 0
      assert_operator minute["rss"], :>, 10_000_000
      assert minute["cpu"].positive? && minute["seconds"].positive?
    end
  end

  # The page must not wait for the minute to end.
  def test_dead_letters_and_errors_are_told_at_once
    with_application do |application|
      application.start
      produce(application, "bad")
      eventually { of_kind(records(application), "state").any? { |state| state["topics"][0].dig("minute", "errors") } }
      state = of_kind(records(application), "state").find { |one| one["topics"][0].dig("minute", "errors") }
      error = of_kind(records(application), "error").first
      assert_operator state["at"] - error["first"], :<, 3
      application.publish("dead_letter_queue.dispatched", group: "guildhall", topic: "orders", partition: 0, offset: 0, to: "dead", error_class: "KeyError")
      eventually { of_kind(records(application), "state").any? { |one| one["topics"][0].dig("minute", "dead") == 1 } }
    end
  end

  def test_errors_without_their_messages
    with_application(reports: {topic: "shop.reports", messages: false}, error_reports: {messages: true}) do |application|
      application.start
      produce(application, "bad")
      eventually { of_kind(records(application, "shop.reports"), "state").any? { |state| state["topics"][0]["partitions"].any? { |row| row["error"] } } }
      application.stop
      all = records(application, "shop.reports")
      assert_equal ["RuntimeError"], of_kind(all, "error").map { |error| error["class"] }.uniq
      refute_includes all.inspect, "SECRET"
      row = of_kind(all, "state").flat_map { |state| state["topics"].flat_map { |one| one["partitions"] } }.find { |one| one.dig("error", "now") }
      assert_match(/\ARuntimeError \(.*reporter_test.rb:\d+\), \d+ attempts? failed/, Guildhall::Kafka::Reporting::Wording.error(row["error"]))
    end
  end

  def test_nothing_is_reported_unless_that_is_wanted
    with_application(reports: false) do |application|
      application.start
      assert_nil application.reporter
      refute application.instrumentation.listening?("consumer.consumed")
      refute(Thread.list.any? { |thread| thread.name == "guildhall reports" })
    end
  end

  # What only metrics need is not counted for reports.
  def test_producing_costs_nothing
    with_application do |application|
      application.start
      refute application.instrumentation.listening?("messages.produced")
    end
  end

  def test_offline_topics_report_nothing
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.reports = true
    application.routes.draw { topic("orders") { consumer(Handles) && dead_letter_queue(topic: "dead", max_retries: 0) } }
    topic = Guildhall::Kafka::Testing.topic("orders", application:)
    topic.deliver("good", "bad")
    assert_equal 1, topic.dead_letters.size
    assert_empty application.reporter.instance_variable_get(:@events)
  end

  def test_events_of_others
    with_application do |application|
      application.reporter.event("outcome", "pausing was refused", command: "c1", action: "pause", outcome: "refused", why: nil)
      application.start
      application.reporter.event("outcome", "x" * 3_000)
      eventually { of_kind(records(application), "event").count { |event| event["name"] == "outcome" } == 2 }
      first, second = of_kind(records(application), "event").select { |event| event["name"] == "outcome" }
      assert_equal ["pausing was refused", "c1", "pause", "refused", false], [*first.values_at("text", "command", "action", "outcome"), first.key?("why")]
      assert_equal 2_001, second["text"].size
      application.stop
      assert_nil application.reporter.event("outcome", "late")
    end
  end

  def test_it_goes_on_after_another_start
    with_application do |application|
      2.times do
        application.start
        eventually { of_kind(records(application), "state").last&.fetch("state") == "running" }
        application.stop
      end
      states = of_kind(records(application), "state")
      assert_equal [1, 1], states.map { |state| state["seq"] }.select { |seq| seq == 1 }
      assert_equal 2, states.map { |state| state["process"] }.uniq.size
      assert_equal %w[started stopping stopped] * 2, of_kind(records(application), "event").map { |event| event["name"] } - ["rebalanced"]
    end
  end

  def test_an_outage_holds_up_nothing
    with_application do |application, broker|
      application.start
      eventually { of_kind(records(application), "state").any? }
      broker.suspend
      5_000.times { |number| application.reporter.event("outcome", "number #{number}") }
      began = Guildhall::Clock.now
      application.stop(timeout: 5)
      assert_operator Guildhall::Clock.now - began, :<, 9
      broker.resume
    end
  end

  def test_a_process_without_brokers_starts_and_stops
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.logger = nil
    application.config.reports = true
    advice = []
    application.instrumentation.subscribe("app.advised") { |event| advice << event.payload[:message] }
    application.routes.draw { topic("orders") { consumer(Handles) } }
    application.start
    assert application.stop(timeout: 60).then { true }
    assert_empty advice
  ensure
    Thread.list.find { |thread| thread.name == "guildhall reports" }&.join
  end

  def test_what_the_application_publishes_is_told_in_words
    with_application do |application|
      application.start
      place = {group: "g", topic: "orders", partition: 2}
      application.publish("partition.stalled", **place, position: 7, end_offset: 9, action: :seek)
      application.publish("schedule.ran", group: "g", task: "nightly", due: Time.at(0).utc, seconds: 1.0, error_class: nil)
      application.publish("schedule.ran", group: "g", task: "hourly", due: Time.at(0).utc, seconds: 1.0, error_class: "KeyError")
      application.publish("rebalance.partitions_revoked", group: "g", member: 1, partitions: (0...300).map { |number| ["orders", number] }, lost: true)
      application.publish("rebalance.partitions_assigned", group: "g", member: 1, partitions: [])
      application.reporter.minutes.record(Guildhall::Kafka::Metrics::BY_NAME.fetch("pool.deaths"), 2, {})
      eventually { of_kind(records(application), "event").any? { |event| event["name"] == "worker_died" } }
      stalled, failed, lost, died, *others = of_kind(records(application), "event").reject { |event| %w[started rebalanced].include?(event["name"]) }
      assert_empty others
      assert_equal ["stalled", "orders/2 is stalled at offset 7 although there is more to read: it seeks to that offset", "g", "orders", 2, 7, "seek"],
        stalled.values_at("name", "text", "group", "topic", "partition", "position", "action")
      assert_equal ["task_failed", "g", "hourly", "group g: task hourly, due 1970-01-01 00:00:00 UTC, failed (KeyError) in 1 s"], failed.values_at("name", "group", "task", "text")
      assert_equal ["lost", 200, "orders/199"], [lost["name"], lost["partitions"].size, lost["partitions"].last]
      assert_equal "2 workers of the pool died: the log says why", died["text"]
    end
  end

  def test_a_process_that_has_failed_for_good
    with_application do |application|
      application.start
      eventually { of_kind(records(application), "state").any? }
      failure = Guildhall::Kafka::FatalError.new(-150, nil, "the broker has fenced it")
      application.instance_variable_get(:@runtime).failed(failure, group: "guildhall")
      eventually { of_kind(records(application), "state").last["state"] == "failed" }
      application.stop
      last = of_kind(records(application), "state").last
      assert_equal ["failed", "the broker has fenced it"], last.values_at("state", "failure")
      failed, = of_kind(records(application), "event").select { |event| event["name"] == "failed" }
      assert_equal ["the broker has fenced it", "guildhall"], failed.values_at("text", "group")
      assert_equal ["fatal"], of_kind(records(application), "error").map { |error| error["type"] }
    end
  end

  # What a broker says may have an address, say.
  def test_a_failure_without_its_message
    with_application(reports: {topic: "shop.reports", messages: false}) do |application|
      application.start
      failure = assert_raises(Guildhall::Kafka::FatalError) { raise Guildhall::Kafka::FatalError.new(-150, nil, "SECRET") }
      application.instance_variable_get(:@runtime).failed(failure, group: "guildhall")
      eventually { of_kind(records(application, "shop.reports"), "state").last&.fetch("state") == "failed" }
      application.stop
      all = records(application, "shop.reports")
      refute_includes all.inspect, "SECRET"
      last = of_kind(all, "state").last
      text = /\AGuildhall::Kafka::FatalError at .*reporter_test\.rb:\d+/
      assert_match(text, last["failure"])
      assert_match(text, of_kind(all, "event").find { |event| event["name"] == "failed" }["text"])
      of_kind(all, "state").flat_map { |state| state["live"] }.each { |problem| assert_match(/\Afailed: Guildhall/, problem["text"]) }
    end
  end

  # What has the parent's threads no more, and must not use its client.
  def test_a_child_reports_nothing
    with_application do |application|
      application.start
      eventually { of_kind(records(application), "state").any? }
      pid = fork do
        application.reporter.event("outcome", "of a child")
        application.error(RuntimeError.new("of a child"), "test")
        application.publish("partition.stalled", group: "g", topic: "orders", partition: 2, position: 7, end_offset: 9, action: :seek)
        application.reporter.finish
        exit!(application.reporter.instance_variable_get(:@events).empty? ? 0 : 1)
      end
      _, status = Process.wait2(pid)
      assert_predicate status, :success?
      application.reporter.event("outcome", "of the parent")
      eventually { of_kind(records(application), "event").last["text"] == "of the parent" }
      refute_includes records(application).inspect, "of a child"
    end
  end

  # An error here is no error of the application's, and does not end the reports.
  def test_a_report_that_cannot_be_made
    with_application do |application|
      broken = true
      application.define_singleton_method(:backpressure) { broken ? raise("broken") : super() }
      application.start
      sleep(0.1) until application.reporter.instance_variable_get(:@seq)
      sleep(1.5)
      broken = false
      eventually { of_kind(records(application), "state").any? }
      assert application.stop
    end
  end

  def test_nothing_is_left_of_a_start_that_fails
    with_application do |application|
      application.define_singleton_method(:topics_by_client) { |_| raise "no members" }
      assert_raises(RuntimeError) { application.start }
      eventually { Thread.list.none? { |thread| thread.name == "guildhall reports" } }
      application.singleton_class.remove_method(:topics_by_client)
      application.start
      eventually { of_kind(records(application), "state").any? { |state| state["state"] == "running" } }
    end
  end

  def test_settings
    {nil => "true, false or a Hash", {topc: "x"} => "did you mean topic", {topic: "a b"} => "the name of a topic", {messages: 1} => "messages"}.each do |value, text|
      application = Guildhall::Kafka::Application.new
      application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      application.config.reports = value
      application.routes.draw { topic("orders") { consumer(Handles) } }
      assert_includes assert_raises(Guildhall::ConfigurationError) { application.start }.message, text
    end
  end
end
