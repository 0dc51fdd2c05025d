# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# Delay topics without a broker: which one a message waits in, for how long, and what becomes of it then.
class KafkaDelayingTest < GuildhallTest
  TOPICS = Guildhall::Kafka::Delaying::DelayTopics.new(prefix: "later", delays: [1, 10, 60])
  Headers = Guildhall::Kafka::Delaying::DelayHeaders

  # A record with headers.
  class Record < KafkaPartition::Record
    attr_accessor :headers
  end

  def record(headers, time: Time.now, offset: 0)
    Record.new(offset, "bytes", "k", time).tap { |record| record.headers = headers }
  end

  def batch(*records)
    Guildhall::Kafka::Messages::Batch.new(records, records.map(&:raw_payload).tap { |list| list.define_singleton_method(:filtering?) { false } }, nil, bytes: 5)
  end

  def read_message(headers) = Guildhall::Kafka::Message.new(batch(record(headers)), 0)

  def test_a_message_waits_in_the_longest_topic_that_is_not_too_long
    topics = {0.2 => "later.1", 1 => "later.1", 9.9 => "later.1", 10 => "later.10", 59 => "later.10", 60 => "later.60", 10**9 => "later.60"}
    topics.each { |seconds, name| assert_equal name, TOPICS.topic(seconds) }
  end

  def test_the_headers_go_where_the_message_goes
    message = read_message({"h" => "x", **Headers.for(1_700_000_000.1234, "orders", 3)})
    assert_in_delta 1_700_000_000.123, Headers.due(message)
    assert_equal [{topic: "orders", partition: 3}, {"h" => "x"}], [Headers.target(message), Headers.without(message)]
    assert_equal [nil, nil], [Headers.due(read_message({})), Headers.target(read_message({}))]
  end

  def test_a_message_is_sent_on_with_its_bytes_and_key_and_what_the_headers_say
    waiting = {"h" => "x", **Headers.for(Time.now.to_f + 5, "orders", nil)}
    given = [{"h" => "x", **Headers.for(1_700_000_000.1234, "orders", 3)}, {"h" => "x", **Headers.for(1, "orders", nil)}, waiting]
    sent = forward(*given).application.dead_letters
    content = {payload: "bytes", key: "k"}
    assert_equal [{topic: "orders", partition: 3, **content, headers: {"h" => "x"}}, {topic: "orders", **content, headers: {"h" => "x"}},
                  {topic: "later.1", **content, headers: waiting}], sent
  end

  def test_it_waits_for_the_topics_time_or_less_where_it_is_due_before
    now = Time.now
    waits = {Headers.for(now.to_f + 100, "t", nil) => 10, Headers.for(now.to_f + 5, "t", nil) => 5}
    waits.each do |headers, seconds|
      selection = Guildhall::Kafka::Filtering::FilterContext.new(batch(record(headers, time: now)))
      Guildhall::Kafka::Delaying::DueFilter.new(seconds: 10).call(selection)
      assert_equal 0, selection.postponed
      assert_in_delta seconds, selection.seconds, 3
    end
  end

  def test_what_has_waited_passes_and_the_first_that_has_not_stops_the_rest
    now = Time.now
    later = Headers.for(now.to_f + 1_000, "t", nil)
    records = [record(later, time: now - 20), record({}, offset: 1), record(later, time: now, offset: 2), record(later, time: now - 20, offset: 3)]
    selection = Guildhall::Kafka::Filtering::FilterContext.new(batch(*records))
    Guildhall::Kafka::Delaying::DueFilter.new(seconds: 10).call(selection)
    assert_equal [[0, 1], 2], [selection.map(&:offset), selection.postponed]
  end

  # A partition of a delay topic, whose messages have these headers.
  def forward(*headers, delay_topics: TOPICS)
    kafka = KafkaPartition.new(Guildhall::Kafka::Delaying::Forwarder) do
      dead_letter_queue topic: "later.dead"
      @settings[:delay_topics] = delay_topics
    end
    yield kafka if block_given?
    records = headers.each_with_index.map { |some, offset| record(some, offset:) }
    kafka.partition.deliver(records, 1)
    kafka.work
    kafka
  end

  def test_what_is_due_goes_where_it_belongs_and_the_rest_to_the_next_topic
    now = Time.now.to_f
    kafka = forward(Headers.for(now - 1, "orders", nil), Headers.for(now + 100, "orders", nil), Headers.for(now + 30, "orders", 1))
    assert_equal %w[orders later.60 later.10], kafka.application.dead_letters.map { |sent| sent[:topic] }
    assert_equal [{}, "orders", "1"], [kafka.application.dead_letters[0][:headers], kafka.application.dead_letters[1][:headers]["delay_topic"], kafka.application.dead_letters[2][:headers]["delay_partition"]]
    assert_equal 3, kafka.committed
  end

  def test_what_does_not_say_where_it_goes_becomes_a_dead_letter_and_blocks_no_other
    kafka = forward({}, Headers.for(1, "orders", nil))
    sent = kafka.application.dead_letters.map { |one| one[:topic] }
    assert_equal ["later.dead", 2], [sent.find { |topic| topic != "orders" }, kafka.committed]
    assert_includes sent, "orders"
    assert_includes kafka.errors.first.message, "no header that says where"
  end

  def test_a_message_that_cannot_be_sent_doubles_none_of_its_neighbours
    numbers = (0...20).map(&:to_s)
    refused = Guildhall::Kafka::ProduceError.of(3, "gone")
    kafka = forward(*numbers.map { |number| {"n" => number, **Headers.for(1, number == "7" ? "gone" : "orders", nil)} }) do |one|
      one.application.producer.define_singleton_method(:start) do |message|
        next super(message) unless message[:topic] == "gone"

        Class.new { define_method(:await) { |*| raise refused } }.new
      end
    end
    sent = kafka.application.dead_letters.group_by { |one| one[:topic] }.transform_values { |list| list.map { |one| one[:headers]["n"] }.sort_by(&:to_i) }
    assert_equal [{"orders" => numbers - ["7"], "later.dead" => ["7"]}, 20], [sent, kafka.committed]
  end

  def test_what_the_broker_does_not_take_in_time_is_sent_again_and_never_dead
    down = 5
    kafka = forward(Headers.for(1, "orders", nil)) do |one|
      one.application.producer.define_singleton_method(:start) { |message| (down -= 1) >= 0 ? raise(Guildhall::Kafka::ProduceError.of(-192, "t")) : super(message) }
    end
    assert_equal [["orders"], 1], [kafka.application.dead_letters.map { |one| one[:topic] }, kafka.committed]
    assert(kafka.errors.all?(Guildhall::TimeoutError))
  end

  def test_what_waits_for_the_broker_is_sent_once_though_its_next_topic_is_another_by_then
    asked = 0
    delay_topics = Class.new { define_method(:topic) { |_left| "later.#{asked += 1}" } }.new
    kafka = forward(Headers.for(Time.now.to_f + 30, "orders", nil), delay_topics:) do |one|
      one.application.producer.failing = ["k"]
    end
    assert_equal [%w[later.1 later.1], 2, 1], [kafka.application.dead_letters.map { |one| one[:topic] }, asked, kafka.committed]
  end
end
