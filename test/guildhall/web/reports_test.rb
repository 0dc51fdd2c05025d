# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/testing"
require "support/recorded_reports"

# Reading the topic of reports, on the embedded broker; test/integration/scenarios/web_reports.rb reads what was there before.
class WebReportsTest < GuildhallTest
  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.logger = nil
    @reports = Guildhall::Web::Reports.new(@application)
    @recorded = RecordedReports.new
  end

  def teardown
    @reports.close
    @broker.stop
  end

  def produce(*all)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    all.map do |data|
      record = @recorded.record(data)
      producer.produce(topic: "guildhall.reports", partition: record.partition, key: record.key, payload: record.raw_payload, headers: record.headers)
    end.each(&:wait)
  ensure
    producer.close
  end

  def state(process, **more) = {**@recorded.any("state", process, 0), "state" => "running", **more.transform_keys(&:to_s)}

  def test_what_is_written_while_somebody_looks
    @broker.create_topic("guildhall.reports", partitions: 3)
    eventually { @reports.view.phase == :live }
    produce(state("web:7:a"), {**@recorded.any("event", "web:7:a", 0), "name" => "started", "text" => "started"}, {"v" => 1, "kind" => "other"})
    eventually { @reports.view.then { |view| view.live.map(&:name) == ["web:7:a"] && view.events.size == 1 && view.skipped.any? } }
    assert_in_delta 0, @reports.view.ahead, 5
    assert_equal 1, Thread.list.count { |thread| thread.name == "guildhall dashboard" }
  end

  def test_a_topic_that_comes_later
    assert_instance_of Guildhall::Kafka::UnknownTopicError, @reports.view.problem
    @broker.create_topic("guildhall.reports", partitions: 1)
    eventually { @reports.view.phase == :live && @reports.view.problem.nil? }
  end

  def test_what_was_read_before_an_error_is_not_counted_twice
    @broker.create_topic("guildhall.reports", partitions: 3)
    produce({**@recorded.any("error", "web:7:a", 0), "fingerprint" => "aa", "class" => "KeyError"})
    @reports.define_singleton_method(:begins) { |_session, ranges| ranges.transform_values(&:begin) }
    times = 0
    @reports.define_singleton_method(:follow) { |*read| (times += 1) == 1 ? raise("broken") : super(*read) }
    eventually { @reports.view && times == 2 }
    assert_equal [1], @reports.instance_variable_get(:@store).view.causes.map(&:count)
  end

  def test_nobody_reads_before_somebody_looks_nor_long_after
    refute_includes Thread.list.map(&:name), "guildhall dashboard"
    @broker.create_topic("guildhall.reports", partitions: 3)
    first = @reports.view
    @reports.instance_variable_set(:@asked_at, Guildhall::Clock.now - 181)
    eventually { Thread.list.none? { |thread| thread.name == "guildhall dashboard" } }
    produce(state("web:7:a"))
    eventually { @reports.view.phase == :live }
    assert_empty first.processes
  end
end
