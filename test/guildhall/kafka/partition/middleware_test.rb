# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/testing"

class MiddlewareTest < GuildhallTest
  class Counting < Guildhall::Kafka::Consumer
    CALLS = Queue.new
    def consume
      CALLS << messages.map(&:raw_payload)
      raise KeyError if messages.any? { |message| message.raw_payload == "bad" }
    end
  end

  def setup = Counting::CALLS.clear

  def test_the_first_is_the_outermost
    seen = []
    order = %w[a b].map { |name| ->(call, &inner) { (seen << [name, call.event, call.id]) && inner.call } }
    deliver(order, "x")
    assert_equal [["a", :initialized, "t/0"], ["b", :initialized, "t/0"], ["a", :consume, "t/0@0"], ["b", :consume, "t/0@0"]], seen
  end

  def test_one_that_does_not_yield
    topic = deliver([->(call, &inner) { inner.call unless call.event == :consume }], "x")
    assert_equal [Guildhall::Kafka::MiddlewareError, 0, 1], [topic.errors.first.class, Counting::CALLS.size, topic.dead_letters.size]
    assert_match(/has not yielded/, topic.errors.first.message)
  end

  def test_one_that_yields_twice_runs_the_consumer_once
    deliver([->(_, &inner) { 2.times { inner.call } rescue nil }], "x") # rubocop:disable Style/RescueModifier
    assert_equal [["x"]], Array.new(Counting::CALLS.size) { Counting::CALLS.pop }
  end

  def test_an_error_that_it_rescues_is_none_the_less_an_error
    topic = deliver([->(_, &inner) { inner.call rescue nil }], "bad") # rubocop:disable Style/RescueModifier
    assert_equal [KeyError], topic.errors.map(&:class)
    assert_equal ["bad"], topic.dead_letters.map { |letter| letter[:payload] }
  end

  def test_settings
    [[:call], [->(_) {}, nil], "call"].each do |middleware|
      errors = Guildhall::Kafka::Config::Problems.new
      Guildhall::Kafka::Config.new.tap { |config| config.middleware = middleware }.validate(errors)
      assert_includes errors.to_a.join, "middleware must be an Array of objects with call"
    end
  end

  private

  def deliver(middleware, *payloads)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.middleware = middleware
    application.routes.draw do
      topic "t" do
        consumer Counting
        dead_letter_queue topic: "dead", max_retries: 0
      end
    end
    Guildhall::Kafka::Testing.topic("t", application:).deliver(*payloads)
  end
end
