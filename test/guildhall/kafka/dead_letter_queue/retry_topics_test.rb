# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# Where messages go that fail, where the route has retry topics; without a broker.
class KafkaRetryTopicsTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  ROUTE = proc do
    retry_topics 5, 30
    dead_letter_queue topic: "dead", dispatch_undecodable: true
    retries non_retryable: ArgumentError
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def consumer(error)
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) { messages.each_marking { |message| message.payload && message.offset == 2 && raise(error) } }
    end
  end

  def sent(kafka) = kafka.application.dead_letters.map { |one| [one[:topic], one[:key]] }

  def events(kafka, name) = kafka.application.events.filter_map { |event, payload| payload if event == name }

  def test_what_fails_goes_to_the_first_retry_topic_at_once
    kafka = KafkaPartition.new(consumer("no price"), &ROUTE).deliver(0...5)
    kafka.work
    assert_equal [[["t.group.retry.5", "k2"]], 5, 1], [sent(kafka), kafka.committed, kafka.errors.size]
    headers = kafka.application.dead_letters.first[:headers]
    assert_equal %w[t 0 2 group 1 RuntimeError], headers.values_at("source_topic", "source_partition", "source_offset", "source_consumer_group", "source_attempts", "source_error_class")
    assert_equal [{group: "group", topic: "t", partition: 0, offset: 2, to: "t.group.retry.5", error_class: "RuntimeError"}], events(kafka, "retry_topic.dispatched")
  end

  def test_max_retries_are_attempts_before_that
    kafka = KafkaPartition.new(consumer("no price")) do
      retry_topics 5
      dead_letter_queue topic: "dead", max_retries: 2
    end
    kafka.deliver(0...5).work
    assert_equal [[["t.group.retry.5", "k2"]], 3], [sent(kafka), kafka.errors.size]
  end

  def test_wrong_bytes_and_what_is_not_to_be_retried_become_dead_letters_at_once
    kafka = KafkaPartition.new(consumer(ArgumentError)) do
      instance_eval(&ROUTE)
      deserializer Guildhall::JSON
    end
    kafka.deliver(0...5) { |offset| offset == 4 ? "no JSON" : "1" }.work
    assert_equal [%w[dead k4], %w[dead k2]], sent(kafka)
  end

  def test_without_a_dead_letter_topic_what_fails_to_the_end_is_skipped
    kafka = KafkaPartition.new(consumer(ArgumentError)) do
      instance_eval(&ROUTE)
      dead_letter_queue topic: false
    end
    kafka.deliver(0...5).work
    assert_equal [[], 5], [sent(kafka), kafka.committed]
  end

  def read_message(headers)
    record = KafkaPartition::Record.new(7, "x", "k")
    record.define_singleton_method(:headers) { headers }
    Guildhall::Kafka::Message.new(Guildhall::Kafka::Messages::Batch.new([record], ["x"], nil, bytes: 1), 0)
  end

  def routed(&route)
    @application.routes.draw { topic("orders") { consumer(Handles) && instance_eval(&route) } }
    @application.validate!
  end

  def test_where_a_message_comes_from_stays_the_same_on_its_way
    orders, first, second = routed(&ROUTE)
    headers_of = Guildhall::Kafka::DeadLetterQueue::DeadLetterHeaders
    own = {"source_topic" => "forged", "source_attempts" => "99"}
    headers = headers_of.for(read_message(own), orders, 1, KeyError.new)
    assert_equal %w[t 7 1 KeyError], headers.values_at("source_topic", "source_offset", "source_attempts", "source_error_class")
    before = {"source_topic" => "orders", "source_partition" => "3", "source_offset" => "11", "source_consumer_group" => "guildhall",
              "source_first_failed_at" => "2026-01-01T00:00:00.000Z", "source_attempts" => %w[99 2]}
    headers = headers_of.for(read_message(before), second, 1, IOError.new)
    assert_equal before.merge("source_attempts" => "3", "source_error_class" => "IOError", "guildhall_source_version" => "1"), headers
    assert_equal %w[orders.guildhall.retry.30], [first.retry_topics.next_topic]
    assert_nil second.retry_topics.next_topic
  end

  def test_a_retry_topic_has_the_route_of_its_topic_and_a_delay
    routes = routed do
      instance_eval(&ROUTE)
      throttle limit: 1, per: 1
      max_messages 7
    end
    assert_equal %w[orders orders.guildhall.retry.5 orders.guildhall.retry.30], routes.map(&:name)
    assert_equal [[%w[throttle], nil], [%w[delay], "earliest"], [%w[delay], "earliest"]], routes.map { |route| [route.filters.map(&:name), route.initial_offset] }
    assert_equal [7, 0], routes.last.then { |route| [route.max_messages, route.dead_letter_queue.max_retries] }
    assert_match(/retries after 5, 30 s/, @application.routes.to_s)
    chosen = ->(**selection) { Guildhall::Kafka::Routing::RouteSelection.new(**selection).choose(routes).map(&:name) }
    assert_equal routes.map(&:name), chosen.call(topics: ["orders"])
    assert_equal ["orders.guildhall.retry.5"], chosen.call(topics: ["orders.guildhall.retry.5"])
    assert_raises(Guildhall::ConfigurationError) { chosen.call(exclude_topics: ["orders"]) }
  end

  def test_what_is_wrong_is_an_error
    @application.routes.draw do
      topic("a") { consumer(Handles) && retry_topics(30, 5, prefx: "x") }
      topic("b") { consumer(Handles) && retry_topics && dead_letter_queue(topic: false) }
      pattern(/c/) { consumer(Handles) && retry_topics(5) && dead_letter_queue(topic: "dead") }
      delay_topics 10, 5, prefix: "no good"
    end
    message = assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message
    ['topic "a": retry_topics: unknown keyword prefx; did you mean prefix?', 'topic "a": retry_topics delays must be one or more ascending numbers of seconds',
     'topic "a": retry_topics needs a dead_letter_queue', 'topic "b": retry_topics delays must be', 'topic /c/: retry_topics of a pattern needs prefix: "NAME.retry"',
     "delay_topics delays must be", "delay_topics prefix must be"].each { |text| assert_includes message, text }
    assert_equal 7, message.scan(/^  - /).size, message
  end

  # Topics are named after the group unless the route says how.
  def test_a_group_whose_name_topics_cannot_have
    @application.routes.draw do
      consumer_group("my group") do
        topic("a") { consumer(Handles) && retry_topics(5) && dead_letter_queue(topic: "dead") }
        delay_topics 10
        schedule { task("nightly", "0 3 * * *") { nil } }
      end
      topic("no good") { consumer(Handles) && retry_topics(5) && dead_letter_queue(topic: "dead") }
    end
    errors = assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message.lines.grep(/^  - /)
    rule = "and topic names have letters, digits, '.', '_' and '-' only, 249 at most\n"
    assert_equal ["  - topic \"a\": retry_topics needs a prefix: after the group \"my group\" it would be \"a.my group.retry\", #{rule}",
                  "  - routes: delay_topics needs a prefix: after the group \"my group\" it would be \"my group.delay\", #{rule}",
                  "  - routes: schedule needs a topic: after the group \"my group\" it would be \"my group.schedule\", #{rule}"], errors.grep(/my group/)
    assert_equal(["is not a valid topic name"], errors.grep(/no good/).map { |line| line[/is not a valid topic name/] })
  end

  def test_delay_topics_are_routes_too
    @application.routes.draw { delay_topics 1, 60, prefix: "later" }
    routes = @application.validate!
    assert_equal %w[later.1 later.60], routes.map(&:name)
    assert_equal [%w[earliest later.dead]], routes.map { |route| [route.initial_offset, route.dead_letter_queue.topic] }.uniq
  end
end
