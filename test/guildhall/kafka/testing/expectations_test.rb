# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/testing/assertions"
require "guildhall/json"

# Assertions and matchers say the same: RSpec's are asked here without RSpec.
class TestingExpectationsTest < GuildhallTest
  include Guildhall::Kafka::Testing::Assertions

  class Orders < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        raise KeyError, "no id" unless message.payload["id"]

        produce_async(topic: "copies", payload: {"copy" => message.payload["id"]}, key: message.key, headers: {"by" => "orders"})
        TestingExpectationsTest.elsewhere(message.payload["id"])
        mark_as_consumed(message)
      end
    end
  end

  class Later < Guildhall::Kafka::Consumer
    SEEN = Thread::Queue.new
    def consume
      messages.each do |message|
        SEEN << [message.raw_payload, message.topic, Time.now]
        raise KeyError, "not yet" if message.raw_payload == "first" && !topic.retry_topic?
        raise KeyError, "never" if message.raw_payload == "never"
      end
    end
  end

  class Reminders < Guildhall::Kafka::Consumer
    def consume
      return unless messages.first.raw_payload == "once"

      producer.produce_later(at: Time.now + 60, topic: "reminders", payload: "again")
    end
  end

  def self.elsewhere(id) = Guildhall::Kafka.producer.produce_sync(topic: "audit", payload: "order #{id}")

  def setup
    Guildhall::Kafka.reset
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    Guildhall::Kafka.routes do
      topic("copies") { serializer Guildhall::JSON }
      topic "orders" do
        consumer Orders
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true
      end
      topic "later" do
        consumer Later
        retry_topics 5, 300
        dead_letter_queue topic: "dead"
      end
      topic("reminders") { consumer Reminders }
      topic "delayed" do
        consumer Later
        delay 30
      end
      topic "shared" do
        consumer Later
        virtual_partitions partitioner: ->(message) { message.key }
      end
      delay_topics
    end
    Later::SEEN.clear
  end

  def teardown
    Guildhall::Kafka.reset
    super
  end

  def test_what_was_produced
    orders = topic("orders").deliver({"id" => 1}, {"id" => 2}, key: "k")
    assert_produced(orders, topic: "copies", payload: {"copy" => 1}, key: "k", headers: {by: /ord/})
    assert_produced(orders, topic: :copies, payload: '{"copy":2}', times: 1)
    assert_produced(orders, topic: /\Acop/, payload: Hash, times: 2)
    assert_produced(orders, topic: "audit", times: 1..2)
    refute_produced(orders, topic: "copies", payload: {"copy" => 3})
    refute_produced(orders, topic: "copies", times: 1)
    failure = refused { assert_produced(orders, topic: "copies", payload: {"copy" => 3}, times: 2) }
    assert_equal <<~TEXT.chomp, failure
      expected orders to have produced a message with topic "copies", payload {"copy" => 3} 2 times; it has 4:
        copies: payload "{\\"copy\\":1}", key "k", headers {"by" => "orders"}   <- payload
        audit: payload "order 1"   <- topic, payload
        copies: payload "{\\"copy\\":2}", key "k", headers {"by" => "orders"}   <- payload
        audit: payload "order 2"   <- topic, payload
    TEXT
    assert_equal "unknown keyword paylod; did you mean payload?", assert_raises(Guildhall::ArgumentError) { assert_produced(orders, paylod: 1) }.message
  end

  def test_what_was_marked_and_what_has_died
    orders = topic("orders").deliver({"id" => 1}, {"other" => 2}, "{", {"id" => 3})
    assert_marked(orders)
    refute_marked(orders, 3)
    assert_dead_lettered(orders, payload: {"other" => 2}, because: KeyError, times: 1)
    assert_dead_lettered(orders, payload: "{", because: /ParseError/)
    refute_dead_lettered(orders, payload: {"id" => 1})
    failure = refused { assert_dead_lettered(orders, because: IOError) }
    assert_match(/\Aexpected orders to have dead-lettered a message with because IOError; it has 2:\n  dead: .*<- because\n/, failure)
    assert_match(/^  its consumer has raised KeyError: no id \(.*#{File.basename(__FILE__)}:\d+.*\) \(\d+ times\)$/, failure)
    failure = refused { assert_marked(orders, 2) }
    assert_match(/\Aexpected orders to have marked the first 2 of its messages; 4 of 4 are done\n/, failure)
  end

  def test_what_a_block_produces_is_kept
    assert_produced(topic: "audit", payload: "order 9") { self.class.elsewhere(9) }
    failure = refused { assert_produced(topic: "audit") { nil } }
    assert_equal "expected the producer to have produced a message with topic \"audit\"; it has none", failure
    refute_produced(topic: "audit") do
      Guildhall::Kafka.producer.transaction { raise IOError if self.class.elsewhere(8) }
    rescue IOError
      nil
    end
  end

  # One that asked of the wrong thing would pass with `refute`.
  def test_what_is_asked_of_the_wrong_thing_is_refused
    orders = topic("orders").deliver({"id" => 1})
    {
      -> { assert_produced(topic: "copies") } => /produced is asked of a topic .* or of a block, but nothing was given/,
      -> { refute_produced("orders") } => /a String was given/,
      -> { assert_produced(orders, topic: "copies") { nil } } => /a topic and a block/,
      -> { refute_dead_lettered(-> { self.class.elsewhere(1) }) } => /dead-lettered is asked of a topic .*, but a Proc was given/,
      -> { Guildhall::Kafka::Testing.offline { |producer| refute_dead_lettered(producer, payload: {"id" => 1}) } } => /Producer was given/,
      -> { refute_marked(nil) } => /marked is asked of a topic .*, but nothing was given/,
      -> { assert_marked(orders, "1") } => /must be an Integer from 0 on, not "1"/,
      -> { refute_marked(orders, -1) } => /must be an Integer from 0 on, not -1/,
      -> { refute_marked(orders, 2) } => /2 messages cannot be marked: orders has got 1/,
      -> { assert_produced(orders, times: "1") } => /times: must be an Integer or a Range, not "1"/
    }.each { |wrong, text| assert_match text, assert_raises(Guildhall::ArgumentError, text.inspect, &wrong).message }
  end

  # Each of these would pass, whatever the consumer does.
  def test_what_is_asked_before_anything_was_delivered_is_refused
    require "guildhall/kafka/testing/rspec"
    extend Guildhall::Kafka::Testing::RSpec

    [-> { assert_marked(it) }, -> { refute_marked(it) }, -> { assert_marked(it, 0) }, -> { refute_marked(it, 1) }, -> { have_marked.matches?(it) },
     -> { refute_dead_lettered(it) }, -> { assert_dead_lettered(it, times: 0) }, -> { have_dead_lettered.matches?(it) },
     -> { refute_produced(it) }, -> { assert_produced(it, times: 0) }, -> { have_produced.matches?(it) }].each do |asks|
      error = assert_raises(Guildhall::ArgumentError) { asks.call(topic("orders")) }
      assert_match(/\Awhat was (marked|dead-lettered|produced) is asked of orders, and nothing was delivered to it: call deliver first\z/, error.message)
    end
    orders = topic("orders").tick # a consumer may produce there
    refute_produced(orders)
    assert_raises(Guildhall::ArgumentError) { refute_dead_lettered(orders) }
    orders.deliver({"other" => 1})
    assert_marked(topic("delayed").deliver("a"), 0)
    refute_marked(orders, 0)
  end

  def test_a_payload_with_symbols_as_keys
    orders = topic("orders").deliver({"id" => 1})
    assert_match(/the keys of a decoded payload are Strings: payload: {"copy" => 1}/, refused { assert_produced(orders, payload: {copy: 1}) })
    refute_match(/keys of a decoded/, refused { assert_produced(orders, payload: {copy: 2}) })
  end

  # As Minitest's `parallelize_me!` has them: the blocks overlap, and end in the order in which they began.
  def test_blocks_in_threads_at_the_same_time
    steps = Array.new(4) { Thread::Queue.new }
    first = Thread.new do
      Guildhall::Kafka::Testing.offline do |producer|
        steps[0] << true
        steps[1].pop
        Thread.new { self.class.elsewhere(1) }.join
        Guildhall::Kafka::Testing.offline { |inner| [self.class.elsewhere(2), assert_equal(["order 2"], payloads(inner))] }
        payloads(producer)
      end
    end
    second = Thread.new do
      steps[0].pop
      Guildhall::Kafka::Testing.offline do |producer|
        steps[1] << true
        first.join
        self.class.elsewhere(3)
        steps[2] << true
        steps[3].pop
        payloads(producer)
      end
    end
    steps[2].pop(timeout: 60)
    self.class.elsewhere(4) # a thread that was there before
    steps[3] << true
    assert_equal [["order 1"], ["order 3", "order 4"]], [first.value, second.value]
    assert_instance_of Guildhall::Kafka::Producer, Guildhall::Kafka.producer
  end

  def payloads(producer) = producer.produced.map { |message| message[:payload] }

  def test_matchers_of_rspec
    require "guildhall/kafka/testing/rspec"
    extend Guildhall::Kafka::Testing::RSpec

    orders = topic("orders").deliver({"id" => 1})
    matcher = have_produced(topic: "copies", payload: {"copy" => 2})
    refute matcher.matches?(orders)
    assert_match(/payload {"copy" => 2}; it has 2:/, matcher.failure_message)
    assert have_marked(1).matches?(orders)
    assert_match(/not to have marked all/, have_marked.tap { |one| one.matches?(orders) }.failure_message_when_negated)
    refute have_dead_lettered.matches?(orders)
    assert have_produced(topic: "audit", times: 1).matches?(-> { self.class.elsewhere(4) })
  end

  # By RSpec's own means, which are a stand-in here.
  def test_matchers_of_rspec_can_be_composed
    Dir.mktmpdir do |folder|
      Dir.mkdir("#{folder}/rspec")
      File.write("#{folder}/rspec/expectations.rb", "module RSpec; module Matchers; module Composable; def and(other) = [self, other]; end; end; end")
      assert_equal "2", assert_ruby(<<~RUBY, options: ["-I", folder]).chomp
        require "guildhall/kafka/testing/rspec"
        extend Guildhall::Kafka::Testing::RSpec
        puts have_produced(topic: "copies").and(have_marked).size
      RUBY
    end
  end

  def test_time_passes_for_retry_topics
    later = topic("later").deliver("first", "never", "good")
    assert_equal [3, 2, []], [later.done, later.retries.size, later.dead_letters]
    assert_equal({"later" => 3}, seen_by_topic)
    later.travel(1)
    assert_equal 0, Later::SEEN.size
    later.travel(5)
    assert_equal [%w[first never], 3], [drain.map(&:first), later.retries.size]
    began = Time.now
    later.travel(400)
    assert_operator drain.first.last - began, :>, 290
    assert_dead_lettered(later, payload: "never", because: "KeyError", headers: {source_attempts: "3"}, times: 1)
    assert_in_delta Time.now.to_f, Process.clock_gettime(Process::CLOCK_REALTIME), 60
  end

  def test_time_passes_for_filters_and_what_is_produced_later
    delayed = topic("delayed").deliver("a")
    assert_equal 0, delayed.done
    assert_equal 1, delayed.travel(31).done
    reminders = topic("reminders").deliver("once")
    assert_produced(reminders, topic: "reminders", payload: "again", at: ->(time) { (30..61).cover?(time - Time.now) })
    assert_equal [1, [[0]]], [reminders.travel(30).done, reminders.calls]
    assert_equal [2, [[0], [1]]], [reminders.travel(31).done, reminders.calls]
    assert_equal 2, reminders.travel(600).done
  end

  def test_messages_with_keys_of_their_own
    factory = Guildhall::Kafka::Testing.factory(key: ->(order) { order["for"] }) { |number| {"id" => number, "for" => "c#{number % 2}"} }
    assert_equal [%w[c1 c0 c1], [1, 2, 3]], factory.many(3).then { |made| [made.map(&:key), made.map { |one| one.payload["id"] }] }
    assert_equal [{"id" => 4, "for" => "x"}, "x"], factory.one("for" => "x").then { |made| [made.payload, made.key] }
    shared = topic("shared").deliver(*%w[a b a b].map { |key| Guildhall::Kafka::Testing.message("to #{key}", key:) }, "other")
    assert_equal [[0, 2], [1, 3]], [0, 1].map { |first| shared.calls.find { |call| call.include?(first) } & [first, first + 2] } # two keys may share a thread
    assert_marked(shared)
  end

  private

  def topic(name) = Guildhall::Kafka::Testing.topic(name)
  def refused(&) = assert_raises(Minitest::Assertion, &).message
  def drain = Array.new(Later::SEEN.size) { Later::SEEN.pop }
  def seen_by_topic = drain.map { |seen| seen[1] }.tally
end
