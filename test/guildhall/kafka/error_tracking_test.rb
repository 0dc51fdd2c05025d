# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"

class ErrorTrackingTest < GuildhallTest
  # Takes what vendors' gems would.
  class Tracker
    attr_reader :reports, :traces

    def initialize
      @reports = []
      @traces = []
    end

    def report(error, context) = @reports << [error, context]

    def trace(call, handler)
      @traces << [handler, call.attempt]
      yield
    end

    def produce(message) = message.merge(headers: {**message[:headers].to_h, "trace" => "1"})
  end

  class Orders < Guildhall::Kafka::Consumer
    AWAY = Thread::Queue.new

    def consume
      rows = messages.payloads.map { |order| order.fetch("id") } if topic_name == "bulk"
      messages.each do |message|
        raise IOError, "away" if message.payload["away"] && (AWAY << 1).size < 3
        raise ArgumentError, "bad #{message.payload["id"]}" if message.payload["bad"]

        produce_async(topic: "copies", payload: "x") unless rows
      end
    end

    def tick = raise(NotImplementedError, "tick")
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.config.release = "v7"
    @tracker = Tracker.new
    @application.routes.draw do
      %w[orders bulk].each do |name|
        topic name do
          consumer Orders
          deserializer Guildhall::JSON.lazy
          dead_letter_queue topic: "dead", max_retries: 3
        end
      end
      topic "retried" do
        consumer Orders
        deserializer Guildhall::JSON.lazy
        retry_topics 5, 30
        dead_letter_queue topic: "dead"
      end
      topic "dead" do
        consumer Orders
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "buried"
      end
    end
  end

  def test_an_error_is_told_once_for_each_failure
    orders = deliver("orders", {"id" => 1}, {"id" => 2, "bad" => 1}, {"id" => 3}, {"id" => 4, "bad" => 1}, key: "customer 7")
    assert_equal [2, 4], [orders.dead_letters.size, orders.done]
    assert_operator orders.errors.size, :>=, 8
    assert_equal [1, 3], @tracker.reports.map { |_, context| context[:offset] }
    error, context = @tracker.reports.first
    assert_equal ["bad …", ArgumentError], [error.message, error.class]
    assert_equal({type: "consumer.consume", group: "guildhall", topic: "orders", partition: 0, attempt: 1, offset: 1, first_offset: 0, last_offset: 3,
                  key: Digest::SHA256.hexdigest("customer 7")[0, 16], handler: "ErrorTrackingTest::Orders#consume", release: "v7"}, context)
    assert_equal ["ErrorTrackingTest::Orders#consume", 1], @tracker.traces.first
    assert_equal "1", orders.produced.first[:headers]["trace"]
  end

  def test_each_attempt_is_told_where_that_is_asked_for
    @application.config.error_reports = {attempts: true}
    orders = deliver("orders", {"id" => 1, "bad" => 1})
    assert_equal [1, 2, 3, 4], @tracker.reports.map { |_, context| context[:attempt] }
    assert_equal 4, orders.errors.size
  end

  # It is not known at first which of them has failed.
  def test_the_message_that_is_found_later_is_no_other_failure
    bulk = deliver("bulk", {"id" => 1}, {"x" => 2}, {"id" => 3}, {"x" => 4})
    assert_equal 2, bulk.dead_letters.size
    assert_equal([[KeyError, 0, 3]] * 2, @tracker.reports.map { |error, context| [error.class, *context.values_at(:first_offset, :last_offset)] }.then { |all| all.first(1) * 2 })
    assert_operator @tracker.reports.size, :<=, 2
  end

  def test_an_outage_is_one_failure
    orders = deliver("orders", {"id" => 1, "away" => 1})
    assert_equal [1, 0], [orders.done, orders.dead_letters.size]
    assert_equal([[IOError, true]], @tracker.reports.map { |error, context| [error.class, context[:outage]] })
  end

  def test_retry_topics_bring_no_new_failure
    retried = deliver("retried", {"id" => 1, "bad" => 1}).travel(5).travel(30)
    assert_equal [1, 3], [retried.dead_letters.size, retried.errors.size]
    assert_equal([["retried", 0]], @tracker.reports.map { |_, context| context.values_at(:topic, :offset) })
  end

  # A message that comes from there has failed before, but for another consumer.
  def test_errors_of_who_consumes_dead_letters_are_told
    letter = deliver("orders", {"id" => 1, "bad" => 1}).dead_letters.first
    assert_equal %w[ArgumentError orders], letter[:headers].transform_keys(&:to_s).values_at("source_error_class", "source_topic")
    Guildhall::Kafka::Testing.topic("dead", application: @application).deliver(letter[:payload], headers: letter[:headers])
    assert_equal %w[orders dead], @tracker.reports.map { |_, context| context[:topic] }.uniq
  end

  def test_other_errors_of_consumers_and_of_the_application
    deliver("orders", {"id" => 1}).tick.tick
    2.times { @application.error(Guildhall::Kafka::TransactionError.new("x"), "librdkafka", group: "shop") }
    assert_equal([["consumer.tick", NotImplementedError], ["librdkafka", Guildhall::Kafka::TransactionError]],
      @tracker.reports.map { |error, context| [context[:type], error.class] })
  end

  def test_payloads_are_not_told_and_a_tracker_that_raises_harms_nobody
    @tracker.define_singleton_method(:report) { |error, _| reports << error.message and raise "the tracker is away" }
    _, err = capture_io { assert_equal 1, deliver("bulk", {"secret" => 1}).dead_letters.size }
    assert_match(/\Aguildhall: ErrorTrackingTest::Tracker raised RuntimeError: the tracker is away$/, err)
    assert_equal ["key not found"], @tracker.reports.uniq
  end

  def test_the_same_failure_is_told_again_after_an_hour
    failures = Guildhall::Kafka::ErrorTracking::Failures.new
    place = {type: "consumer.consume", topic: "t", offset: 3, first_offset: 0, last_offset: 9}
    assert_equal [true, false], Array.new(2) { failures.first?(KeyError.new, place) }
    assert failures.first?(KeyError.new, {**place, offset: 4})
    assert failures.first?(IOError.new, place)
    failures = Guildhall::Kafka::ErrorTracking::Failures.new(again_seconds: 0)
    assert_equal [true, true], Array.new(2) { failures.first?(KeyError.new, place) }
  end

  def test_what_is_no_tracker
    assert_match(/unknown error tracker sentri; did you mean sentry\?/, assert_raises(Guildhall::ArgumentError) { start(:sentri) }.message)
    assert_match(/an error tracker has report/, assert_raises(Guildhall::ArgumentError) { start(Object.new) }.message)
  end

  private

  def start(tracker) = Guildhall::Kafka::ErrorTracking.start(tracker, @application)

  def deliver(name, *payloads, **)
    start(@tracker)
    Guildhall::Kafka::Testing.topic(name, application: @application).deliver(*payloads, **)
  end
end
