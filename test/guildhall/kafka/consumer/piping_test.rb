# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaPipingTest < GuildhallTest
  # Of one partition; sends nothing while it is down.
  class TransactionalProducer
    attr_accessor :down
    attr_reader :sent, :calls

    def initialize
      @sent = []
      @calls = []
    end

    def wait_seconds = 1
    def timeout = 60
    def open = self
    def close = nil
    def failure(_error) = nil
    def begin_transaction = @calls << :begin
    def abort_transaction = @calls << :abort
    def dropped? = false
    def commit_transaction = @calls << :commit
    def send_offset(*) = yield

    def start(message)
      raise Guildhall::Kafka::ProduceError.of(@down, message[:topic]) if @down

      @sent << message
      KafkaPartition::Producer::HANDLE
    end
  end

  def kafka(route = nil, **settings, &block)
    consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { instance_exec(&block) } }
    KafkaPartition.new(consumer, **settings) { instance_exec(&route) if route }
  end

  def keys(kafka) = sent(kafka).map { |message| message[:key] }

  def blocked(kafka) = kafka.application.events.filter_map { |name, payload| payload if name == "forwarding.blocked" }

  def sent(kafka) = kafka.application.dead_letters

  def reported(kafka) = kafka.application.errors.map { |error, type| [error.class, type] }

  def test_messages_keep_bytes_key_headers_and_order
    kafka = kafka { pipe_to("other", headers: {"by" => "me"}) }
    kafka.deliver(0...3).work
    expected = (0...3).map { |offset| {topic: "other", payload: offset.to_s, key: "k#{offset}", headers: {"by" => "me"}} }
    assert_equal [expected, 3], [sent(kafka), kafka.committed]
  end

  def test_arguments_that_mean_nothing
    messages = "messages must be messages, as `messages` and Arrays of them are, not"
    {[%w[p x], {}] => "#{messages} a String", [["p", [nil]], {}] => "#{messages} nil", [["p", nil], {}] => "#{messages} nil",
     [["p", {a: 1}], {}] => "#{messages} an Array", [[[nil]], {}] => 'topic must be the name of a topic, not "[nil]"',
     [["a\0b"], {}] => 'topic must be the name of a topic, not "a\u0000b"', [["p"], {headers: "x"}] => 'headers must be a Hash, or nil, not "x"'}
      .each do |(arguments, keywords), text|
        kafka = kafka { pipe_to(*arguments, **keywords) }
        kafka.deliver(0...1).work(1)
        assert_equal [Guildhall::ArgumentError, "pipe_to: #{text}"], [kafka.errors.first.class, kafka.errors.first.message]
      end
  end

  def test_any_enumerable_of_messages_will_do
    [->(all) { all.lazy.reject { |message| message.offset == 1 } }, ->(all) { Set[*all.first(1), all.last] }].each do |choose|
      kafka = kafka { pipe_to(:other, choose.call(messages), headers: nil) }
      kafka.deliver(0...3).work(1)
      assert_equal %w[k0 k2], keys(kafka)
    end
  end

  def test_messages_without_a_key_stay_together
    kafka = kafka { pipe_to("other", messages.first(2)) }
    kafka.application.producer.define_singleton_method(:partition_count) { |_topic| 4 }
    records = (0...3).map { |offset| KafkaPartition::Record.new(offset, offset == 1 ? nil : "x") }
    records.each { |record| record.define_singleton_method(:partition) { 6 } }
    kafka.partition.deliver(records, 3)
    kafka.work
    assert_equal [{topic: "other", partition: 2, payload: "x", headers: {}}, {topic: "other", partition: 2, headers: {}}], sent(kafka)
  end

  def test_what_does_not_arrive_is_sent_again_and_what_has_arrived_is_not
    kafka = kafka { pipe_to("other") }
    kafka.application.producer.failing = ["k1"]
    kafka.deliver(0...3).work
    assert_equal [%w[k0 k1 k2 k1], 3], [keys(kafka), kafka.committed]
    assert_equal [[Guildhall::Kafka::ForwardingError, "forwarding"]], reported(kafka)
    assert_kind_of Guildhall::TimeoutError, kafka.errors.first
  end

  def test_the_order_of_each_key_stays
    kafka = kafka { pipe_to("other") }
    kafka.application.producer.failing = ["a"] # the first one
    records = %w[a b a b].each_with_index.map { |key, offset| KafkaPartition::Record.new(offset, offset.to_s, key) }
    kafka.partition.deliver(records, 4)
    kafka.work
    assert_equal [%w[0 1 2 3 0 2], 4], [sent(kafka).map { |message| message[:payload] }, kafka.committed]
  end

  MODULO = ->(message) { message.offset % 3 }
  ROUTES = {
    in_order: -> {},
    virtual: -> { virtual_partitions partitioner: MODULO, max: 3 },
    keyed: lambda {
      virtual_partitions partitioner: MODULO, reducer: :itself.to_proc, max: 2
      ordering :key
    }
  }.freeze

  ROUTES.each do |name, route|
    define_method(:"test_a_topic_that_may_not_be_written_to_is_waited_for_without_the_consumer_#{name}") do
      calls = Hash.new(0)
      kafka = kafka(route) do
        messages.each do |message|
          calls[message.offset] += 1
          pipe_to("other", [message]) if message.offset == 1
        end
      end
      kafka.deliver(0...6)
      [29, 3].each { |code| kafka.work(30) if (kafka.application.producer.down = code) } # denied, then missing
      assert_operator blocked(kafka).size, :>, 3
      assert_operator calls[1], :<=, (name == :virtual ? 2 : 1) # together with others at first
      assert_match(/; topic other cannot be written: .*; create topic other \(since .*, attempt \d+\)>\z/, kafka.partition.inspect)
      assert_equal({group: "group", topic: "t", partition: 0, offset: 1, to: "other"}, blocked(kafka).last.slice(:group, :topic, :partition, :offset, :to))
      kafka.application.producer.down = false
      assert kafka.work
      assert_equal [%w[k1], 6, nil], [keys(kafka), kafka.committed, kafka.partition.blocked]
    end
  end

  def test_it_is_no_attempt_and_its_messages_are_never_dead
    kafka = kafka(-> { dead_letter_queue topic: "dead", max_retries: 0 }) { pipe_to("other") }
    kafka.application.producer.down = 3
    kafka.deliver(0...3).work(60)
    assert_equal 1, kafka.partition.attempt
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [%w[other], 3], [sent(kafka).map { |message| message[:topic] }.uniq, kafka.committed]
  end

  def test_what_the_broker_refuses_for_itself_fails
    kafka = kafka(-> { dead_letter_queue topic: "dead", max_retries: 1 }) { pipe_to("other") }
    too_large = Class.new { def await(*) = raise(Guildhall::Kafka::ProduceError.of(10, "other")) }.new
    kafka.application.producer.define_singleton_method(:start) do |message|
      handle = super(message)
      message[:topic] == "other" && message[:key] == "k1" ? too_large : handle
    end
    assert kafka.deliver(0...3).work
    dead = sent(kafka).filter_map { |message| message[:headers]["source_offset"] if message[:topic] == "dead" }
    assert_equal [["1"], 3, nil], [dead, kafka.committed, kafka.partition.blocked]
    assert_equal %w[k0 k2], (keys(kafka) - ["k1"]), "these are not sent twice"
  end

  # As librdkafka's for a topic that is missing: it is confirmed once the topic is there.
  class Late
    def initialize = @confirmed = Thread::Queue.new
    def confirm = @confirmed.close

    def await(limit, give_up = -> { false })
      until @confirmed.closed?
        @confirmed.pop(timeout: 0.05)
        raise Guildhall::TimeoutError, "too late" if !@confirmed.closed? && (Guildhall::Clock.now >= limit || give_up.call)
      end
    end
  end

  def test_what_is_on_its_way_is_waited_for_by_no_runner_and_not_sent_again
    calls = 0
    kafka = kafka do
      calls += 1
      pipe_to("other")
    end
    handles = []
    sending = []
    kafka.application.define_singleton_method(:in_background) { |&block| sending << Thread.new(&block) }
    kafka.application.producer.define_singleton_method(:start) { |_message| Late.new.tap { |handle| handles << handle } }
    kafka.deliver(0...2).work
    assert_equal [1, 2, true, false], [calls, handles.size, kafka.partition.paused?, kafka.partition.working?]
    assert_match(/topic other cannot be written: no broker has confirmed .* attempt 0/, kafka.partition.blocked.to_s)
    assert_equal [[Guildhall::Kafka::ForwardingError, "forwarding"]], reported(kafka)
    handles.each(&:confirm)
    assert(sending.all? { |thread| thread.join(20) })
    assert kafka.work
    assert_equal [2, 2, 2, nil], [calls, handles.size, kafka.committed, kafka.partition.blocked]
  end

  def test_a_partition_that_is_left_does_not_wait_for_it
    kafka = kafka { pipe_to("other") }
    kafka.application.producer.down = 29
    kafka.deliver(0...3).work(40)
    kafka.partition.leave(:shutdown)
    kafka.work
    assert kafka.partition.wait(0)
    kafka.application.producer.down = false
    kafka.work
    assert_equal [[], 0], [sent(kafka), kafka.committed]
  end

  def test_the_producer_does_not_wait_for_what_a_partition_that_was_left_had_on_its_way
    kafka = kafka { pipe_to("other") }
    abandoned = []
    kafka.application.define_singleton_method(:abandon) { |handle| abandoned << handle }
    kafka.application.producer.define_singleton_method(:start) do |_message|
      kafka.partition.leave(:revoked)
      Late.new
    end
    kafka.deliver(0...2).work
    assert_equal [true, 2, 0], [kafka.partition.wait(0), abandoned.size, kafka.committed]
  end

  def test_in_a_transaction_nothing_waits
    producer = TransactionalProducer.new
    kafka = kafka(-> { transactional }, transactional_producers: ->(_id) { producer }) { transaction { pipe_to("other").then { mark_as_consumed(messages.last) } } }
    producer.down = 3
    kafka.deliver(0...2).work(20)
    assert_equal [[], false, nil], [sent(kafka), kafka.partition.forwarding.used?, kafka.partition.blocked]
    assert_match(/create topic other/, kafka.errors.first.message)
    producer.down = false
    assert kafka.work
    assert_equal [%w[k0 k1], :commit], [producer.sent.map { |message| message[:key] }, producer.calls.last]
  end

  def test_a_seek_makes_it_void
    kafka = kafka { pipe_to("other") }
    kafka.application.producer.down = 29
    kafka.deliver(0...3).work(40)
    kafka.partition.seek(2)
    kafka.work(40)
    refute_predicate kafka.partition, :paused?
    kafka.application.producer.down = false
    kafka.deliver(2...4)
    assert kafka.work
    assert_equal [%w[k2 k3], 4, nil], [keys(kafka), kafka.committed, kafka.partition.blocked]
  end

  def test_messages_without_a_key_wait_for_a_missing_topic
    kafka = kafka { pipe_to("other") }
    count = -1 # what the gem answers then
    kafka.application.producer.define_singleton_method(:partition_count) { |_| count }
    record = KafkaPartition::Record.new(0, "x")
    record.define_singleton_method(:partition) { 4 }
    kafka.partition.deliver([record], 1)
    kafka.work(40)
    assert_match(/create topic other/, kafka.partition.blocked.reason)
    count = 6
    assert kafka.work
    assert_equal [[{topic: "other", partition: 4, payload: "x", headers: {}}], 1], [sent(kafka), kafka.committed]
  end

  def test_what_has_arrived_is_known_by_its_message_though_headers_differ_between_attempts
    attempt = 0
    kafka = kafka { pipe_to("other", headers: {"attempt" => (attempt += 1).to_s}) }
    kafka.application.producer.failing = ["k1"]
    kafka.deliver(0...2).work
    assert_equal [%w[k0 k1 k1], 2], [keys(kafka), kafka.committed]
  end

  def test_the_second_call_for_a_message_is_not_taken_for_the_first
    failing = ["2"]
    kafka = kafka { %w[1 2].each { |step| pipe_to("other", headers: {"step" => step}) } }
    kafka.application.producer.define_singleton_method(:start) do |message|
      super(message)
      failing.delete(message[:headers]["step"]) ? KafkaPartition::Producer::FAILING : KafkaPartition::Producer::HANDLE
    end
    kafka.deliver(0...1).work
    assert_equal [%w[1 2 2 1], 1], [sent(kafka).map { |message| message[:headers]["step"] }, kafka.committed]
  end

  ROUTES.each do |name, route|
    define_method(:"test_a_consumer_that_wraps_the_error_waits_as_well_#{name}") do
      wrapping = lambda do
        instance_exec(&route)
        dead_letter_queue topic: "dead", max_retries: 0
      end
      kafka = kafka(wrapping) do
        pipe_to("other")
      rescue Guildhall::Kafka::ForwardingError
        raise KeyError, "orders"
      end
      kafka.application.producer.failing = ["k1"]
      kafka.deliver(0...3).work
      assert_equal [["other"], 3], [sent(kafka).map { |message| message[:topic] }.uniq, kafka.committed]
      assert_equal [[Guildhall::Kafka::ForwardingError, "forwarding"]], reported(kafka)
    end
  end

  def deliver_one_by_one(kafka, offsets)
    offsets.each do |offset|
      kafka.partition.deliver([KafkaPartition::Record.new(offset, offset.to_s, "a")], 1)
      kafka.work_now
    end
  end

  def payloads(kafka) = sent(kafka).map { |message| message[:payload] }

  def test_at_most_once_the_next_messages_wait_for_what_was_sent_before
    calls = []
    kafka = kafka(-> { delivery :at_most_once }) do
      calls << messages.first.offset
      pipe_to("other")
    end
    kafka.application.producer.down = 3
    deliver_one_by_one(kafka, 0...5)
    kafka.work(40)
    assert_equal [[0], true], [calls, kafka.partition.paused?]
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [[*0...5], %w[0 1 2 3 4], 5, nil], [calls, payloads(kafka), kafka.committed, kafka.partition.blocked]
  end

  def test_what_a_consumer_has_rescued_and_gone_on_keeps_the_next_messages_waiting
    kafka = kafka do
      pipe_to("other")
    rescue Guildhall::Kafka::ForwardingError
      nil
    end
    kafka.application.producer.down = 3
    deliver_one_by_one(kafka, 0...5)
    kafka.work(40)
    assert_equal [1, true], [kafka.committed, kafka.partition.paused?]
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [%w[0 1 2 3 4], 5, nil], [payloads(kafka), kafka.committed, kafka.partition.blocked]
  end

  def test_a_seek_ends_the_wait_for_what_nobody_consumes_again
    kafka = kafka(-> { delivery :at_most_once }) { pipe_to("other") }
    kafka.application.producer.down = 3
    deliver_one_by_one(kafka, 0...2)
    kafka.partition.seek(7)
    kafka.work(40)
    refute_predicate kafka.partition, :paused?
    kafka.application.producer.down = false
    deliver_one_by_one(kafka, 7...8)
    assert kafka.work
    assert_equal %w[7], payloads(kafka)
  end

  def test_what_a_seek_has_made_void_keeps_no_later_messages_waiting
    kafka = kafka do
      pipe_to("other") if messages.first.offset < 7
    rescue Guildhall::Kafka::ForwardingError
      seek(7)
      raise
    end
    kafka.application.producer.down = 3
    kafka.deliver(0...2).work_now
    kafka.deliver(7...8).work_now
    assert kafka.work
    assert_equal [8, false], [kafka.committed, kafka.partition.paused?]
  end

  def test_a_tick_that_sends_the_same_messages_again_waits_for_them
    buffer = nil
    kafka = kafka { buffer = messages.to_a }
    kafka.partition.topic.consumer.define_method(:tick) do
      pipe_to("other", buffer) if buffer
      buffer = nil
    end
    kafka.deliver(0...2).work
    kafka.application.producer.down = 3
    5.times do
      kafka.partition.notify(:tick)
      kafka.work(4)
    end
    kafka.application.producer.down = false
    kafka.work
    kafka.partition.notify(:tick)
    kafka.work
    assert_equal [%w[0 1], nil], [payloads(kafka), buffer]
    assert_equal [[Guildhall::Kafka::ForwardingError, "forwarding"]], reported(kafka)
  end

  def test_what_a_seek_has_made_void_is_no_reason_to_call_the_consumer_again_at_once
    first = nil
    kafka = kafka do
      first ||= messages.to_a
      pipe_to("other", first) if messages.first.offset.positive?
    end
    kafka.deliver(0...1).work
    kafka.partition.seek(5)
    kafka.work
    kafka.application.producer.down = 3
    kafka.deliver(5...6).work(40)
    assert_operator kafka.application.events.count { |name, _| name == "consumer.retrying" }, :>, 3
    assert_equal [[Guildhall::Kafka::ForwardingError, "consumer.consume"]], reported(kafka).uniq
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [%w[0], 6], [payloads(kafka), kafka.committed]
  end

  def test_a_topic_is_reported_once_however_many_keys_wait_for_it
    kafka = kafka(ROUTES.fetch(:keyed)) { pipe_to("other") }
    kafka.application.producer.down = 3
    kafka.deliver(0...6).work(60)
    assert_equal 3, blocked(kafka).map { |payload| payload[:offset] }.uniq.size
    assert_equal [[Guildhall::Kafka::ForwardingError, "forwarding"]], reported(kafka)
    kafka.application.producer.down = false
    assert kafka.work
    kafka.application.producer.down = 3
    kafka.deliver(6...9).work(30)
    assert_equal 2, reported(kafka).size
  end

  def test_the_same_message_may_be_sent_twice_on_purpose
    kafka = kafka { 2.times { pipe_to("other") } }
    kafka.application.producer.failing = ["k1"]
    kafka.deliver(0...2).work
    assert_equal [%w[k0 k1 k1 k0 k1], 2], [keys(kafka), kafka.committed]
  end
end
