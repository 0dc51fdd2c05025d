# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaDeadLetterDispatcherTest < GuildhallTest
  Message = Struct.new(:offset) do
    def topic = "t"
    def partition = 3
    def raw_payload = "p#{offset}"
    def raw_key = "k#{offset}"
    def raw_headers = {"h" => "v", "none" => nil, "many" => ["1", nil]}
  end

  def setup
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    @topics = {true => "dead", false => false}.transform_values do |dead|
      KafkaPartition.new(consumer) { dead_letter_queue topic: dead, max_retries: 1 }
    end
    @confirmed = []
  end

  def dispatch(*offsets, sends: true, **options)
    kafka = @topics.fetch(sends)
    dispatcher = Guildhall::Kafka::DeadLetterQueue::Dispatcher.new(kafka.partition.topic, kafka.application)
    confirmed = ->(message) { @confirmed << message.offset }
    dispatcher.dispatch(offsets.map { |offset| Message.new(offset) }, 2, confirmed:, **options) { |message| KeyError.new("no #{message.offset}") }
  end

  def application = @topics[true].application

  def test_a_dead_letter_has_the_message_and_where_it_came_from
    dispatch(5)
    assert_equal [{topic: "dead", payload: "p5", key: "k5",
                   headers: {"h" => "v", "none" => nil, "many" => ["1", nil], "source_topic" => "t", "source_partition" => "3", "source_offset" => "5",
                             "source_consumer_group" => "group", "source_attempts" => "2", "source_error_class" => "KeyError", "guildhall_source_version" => "1"}}],
      application.dead_letters.map { |sent| sent.merge(headers: sent[:headers].except("source_first_failed_at")) }
    assert_equal [5], @confirmed
    assert_equal [["dead_letter_queue.dispatched", "dead", 5, "KeyError"]],
      application.events.map { |name, payload| [name, *payload.values_at(:to, :offset, :error_class)] }.last(1)
  end

  # The place is seen from the process's folder. The message may quote the payload.
  def test_a_dead_letter_says_where_the_error_was_raised_and_its_message_where_that_is_wanted
    error = assert_raises(KeyError) { {}.fetch("ada@example.com") }
    headers = headers_of(error)
    place = "test/guildhall/kafka/dead_letter_queue/dispatcher_test.rb:#{__LINE__ - 2}:in "
    assert_equal ["KeyError", place, nil], [headers["source_error_class"], headers["source_error_place"][0, place.size], headers["source_error_message"]]
    application.config.error_reports = {messages: true}
    assert_equal "key not found: \"ada@example.com\"", headers_of(error)["source_error_message"]
    long = headers_of(RuntimeError.new("é" * 400))["source_error_message"]
    assert_equal [500, true], [long.bytesize, long.valid_encoding?]
  end

  # Its own from an earlier error, of a retry topic or another dead letter topic.
  def test_nothing_is_left_of_an_earlier_error
    headers = headers_of(KeyError.new, "source_error_message" => "old", "source_error_place" => "old.rb:1", "h" => "v")
    assert_equal ["v", nil, nil], headers.values_at("h", "source_error_place", "source_error_message")
  end

  def test_what_is_skipped_is_settled_without_being_sent
    dispatch(3, sends: false)
    assert_equal [[3], []], [@confirmed, application.dead_letters]
  end

  def test_one_that_does_not_arrive_does_not_keep_the_others_from_being_settled
    application.producer.failing = ["k2"]
    error = assert_raises(Guildhall::Kafka::DeadLetterError) { dispatch(1, 2, 3) }
    assert_equal [1, 3], @confirmed
    assert_match(%r{t/3@2 could not be sent to the dead letter topic dead, and is sent again; its partition waits: }, error.message)
    assert_equal "dead", error.to
  end

  def test_a_producer_that_takes_nothing_settles_nothing
    application.producer.down = true
    assert_raises(Guildhall::Kafka::DeadLetterError) { dispatch(1, 2) }
    assert_empty @confirmed
    application.producer.down = 10
    error = assert_raises(Guildhall::Kafka::DeadLetterError) { dispatch(1) }
    assert_match(/Message size too large.*; raise max\.message\.bytes of topic dead\z/, error.message)
  end

  private

  def headers_of(error, own = {})
    message = Message.new(5)
    message.define_singleton_method(:raw_headers) { own }
    dispatcher = Guildhall::Kafka::DeadLetterQueue::Dispatcher.new(@topics[true].partition.topic, application)
    dispatcher.dispatch([message], 1, confirmed: ->(_) {}) { error }
    application.dead_letters.last[:headers]
  end
end
