# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# A partition that is ordered by key; the key of a message is its offset modulo 3, so that 0, 3, 6 belong together.
class KafkaKeyOrderingTest < GuildhallTest
  KEY = ->(message) { message.offset % 3 }

  def kafka(consumer, client: KafkaPartition::Client.new, limits: {}, **settings, &route)
    KafkaPartition.new(consumer, client:, **settings) do
      virtual_partitions partitioner: KEY, reducer: :itself.to_proc, max: 2
      ordering :key, **limits
      instance_eval(&route) if route
    end
  end

  # Fails at the offsets in `failing`, and notes all others.
  def consumer(failing, seen = @seen)
    @attempts ||= []
    attempts = @attempts
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each_marking do |message|
          attempts << [message.offset, attempt]
          raise "no #{message.offset}" if failing.include?(message.offset)

          seen << message.offset
        end
      end
    end
  end

  def setup
    @seen = []
    @failing = []
  end

  def of_key(key) = @seen.select { |offset| offset % 3 == key }

  def events(kafka, name) = kafka.application.events.filter_map { |event, payload| payload if event == name }

  def stored(kafka)
    kafka.partition.store
    offset, metadata = kafka.client.stored.last
    [offset, Guildhall::Kafka::Partition::DoneRanges.load(offset, metadata)]
  end

  def test_consume_gets_the_messages_of_one_key
    calls = []
    consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { calls << messages.map(&:offset) } }
    kafka = kafka(consumer).deliver(0...6)
    kafka.work
    assert_equal [[0, 3], [1, 4], [2, 5]], calls.sort
    assert_equal 6, kafka.committed
  end

  def test_a_parked_key_is_tried_at_once_where_that_is_wanted_but_not_while_a_command_pauses
    @failing << 3
    kafka = kafka(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60).deliver(0...6)
    kafka.work_now
    attempts = @attempts.count([3, 1])
    kafka.partition.pause(600, :command)
    assert_equal [false, 1], kafka.partition.retry_now
    kafka.work_now
    assert_equal [attempts, 0], [@attempts.count([3, 1]), @attempts.count([3, 2])], "paused"
    @failing.clear
    assert kafka.partition.resume(:command)
    kafka.work_now
    assert_equal [[0, 3], 0], [of_key(0), kafka.partition.parked_keys.counts.first]
    assert_equal 6, kafka.committed
  end

  def test_other_keys_go_on_beyond_a_key_that_fails
    @failing << 3
    kafka = kafka(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60).deliver(0...6).deliver(6...12)
    kafka.work_now
    assert_equal [[0], [1, 4, 7, 10], [2, 5, 8, 11]], [0, 1, 2].map { |key| of_key(key) }
    assert_equal [3, [4...6, 7...9, 10...12]], stored(kafka)
    assert_equal [1, 3], kafka.partition.parked_keys.counts
    refute_predicate kafka.partition, :paused?
  end

  # What the partitioner answers, where that cannot be compared.
  class Raising
    attr_reader :hash

    def initialize(hash) = @hash = hash
    def eql?(_other) = raise("no eql?")
  end

  def test_keys_that_cannot_be_compared_do_not_block_the_partition
    @failing << 0
    kafka = KafkaPartition.new(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60) do
      virtual_partitions partitioner: ->(message) { message.offset == 3 ? BasicObject.new : Raising.new(7) }, max: 2
      ordering :key
    end
    kafka.deliver(0...1).deliver(1...3).deliver(3...5).work_now
    assert_equal [1, 2, 3, 4], @seen.sort
    assert_equal [0, [1...5]], stored(kafka)
    partitioner = kafka.application.errors.select { |_, type| type == "virtual_partitions.partitioner" }
    assert_equal [1, 2, 3, 4], partitioner.map { |_, _, place| place[:offset] }
    @failing.clear
    kafka.work
    assert_equal 5, kafka.committed
  end

  def test_lag_is_what_is_not_done
    @failing << 3
    kafka = kafka(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60)
    kafka.client.define_singleton_method(:end_offset) { |*| 12 }
    kafka.deliver(0...6, time: Time.now - 1_000).deliver(6...12, time: Time.now).work_now
    assert_equal 3, kafka.partition.lag
    assert_in_delta 1_000, kafka.partition.measure_lag[:seconds], 100
  end

  def test_a_parked_key_goes_on_in_order_when_its_message_works
    @failing << 3
    kafka = kafka(consumer(@failing)).deliver(0...6).deliver(6...12)
    kafka.work(60)
    @failing.clear
    kafka.deliver(12...15).work
    assert_equal [[0, 3, 6, 9, 12], 15], [of_key(0), kafka.committed]
    assert_equal @seen.uniq, @seen
    assert_equal [0, 0], kafka.partition.parked_keys.counts
    attempts = @attempts.filter_map { |offset, attempt| attempt if offset == 3 }
    assert_equal [*1..attempts.size], attempts
  end

  def test_it_is_told
    @failing << 3
    kafka = kafka(consumer(@failing)).deliver(0...6)
    kafka.work(30)
    assert_equal [{group: "group", topic: "t", partition: 0, key: "0", offset: 3}], events(kafka, "key.parked")
    assert_equal [3], events(kafka, "consumer.retrying").map { |event| event[:offset] }.uniq
    @failing.clear
    kafka.work
    assert_equal [{group: "group", topic: "t", partition: 0, key: "0"}], events(kafka, "key.resumed")
  end

  def test_where_a_retry_raises_after_its_message_was_marked_the_next_message_is_tried_at_once
    attempts = []
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each do |message|
          attempts << [message.offset, attempt]
          raise "before" if attempts.size == 1

          mark_as_consumed(message)
          raise "behind" if message.offset.zero?
        end
      end
    end
    kafka = KafkaPartition.new(consumer) do
      virtual_partitions partitioner: ->(_) { 1 }, max: 2
      ordering :key
    end
    kafka.deliver(0...2).work_now
    kafka.application.timer.pass
    kafka.work_now
    assert_equal [[[0, 1], [0, 2], [1, 1]], [1], 2],
      [attempts, events(kafka, "consumer.retrying").map { |event| event[:attempt] }, kafka.committed]
  end

  def test_a_message_without_a_key_waits_alone
    @failing << 1
    kafka = KafkaPartition.new(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60) do
      virtual_partitions partitioner: ->(_) {}, max: 2
      ordering :key
    end
    kafka.deliver(0...6).work_now
    assert_equal [0, 2, 3, 4, 5], @seen.sort
    assert_nil events(kafka, "key.parked").first[:key]
  end

  def test_dead_letters_are_one_message_after_its_retries_and_the_key_goes_on
    @failing << 3
    kafka = kafka(consumer(@failing)) { dead_letter_queue topic: "dead", max_retries: 2 }.deliver(0...9)
    kafka.work
    assert_equal [[3], [0, 6], 9], [kafka.dead, of_key(0), kafka.committed]
    assert_equal(3, @attempts.count { |offset,| offset == 3 })
  end

  def test_a_dead_letter_without_retries
    @failing << 3
    kafka = kafka(consumer(@failing)) { dead_letter_queue topic: "dead", max_retries: 0 }.deliver(0...9)
    kafka.work
    assert_equal [[3], [0, 6], 9, 1], [kafka.dead, of_key(0), kafka.committed, @attempts.count { |offset,| offset == 3 }]
  end

  def test_the_message_that_fails_is_found_where_nothing_is_marked
    calls = []
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        calls << messages.map(&:offset)
        raise "no" if messages.map(&:offset).include?(3)
      end
    end
    kafka = kafka(consumer) { dead_letter_queue topic: "dead", max_retries: 1 }.deliver(0...9)
    kafka.work
    assert_equal [[3], 9], [kafka.dead, kafka.committed]
    assert_equal([[0, 3, 6], [0], [3], [3], [6]], calls.select { |offsets| (offsets.first % 3).zero? })
  end

  def test_all_that_waits_of_a_key_becomes_dead_letters_where_the_strategy_says_so
    @failing << 3
    kafka = kafka(consumer(@failing)) { dead_letter_queue topic: "dead", max_retries: 1, strategy: :all }.deliver(0...9)
    kafka.work
    assert_equal [[3, 6], [0], 9], [kafka.dead, of_key(0), kafka.committed]
  end

  def test_dead_letters_that_do_not_arrive_are_tried_again
    @failing << 3
    kafka = kafka(consumer(@failing)) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.application.producer.failing = ["k3"]
    kafka.deliver(0...9).work
    assert_equal [[3, 3], [0, 6], 9], [kafka.dead, of_key(0), kafka.committed]
  end

  def test_undecodable_payloads_of_waiting_keys_become_dead_letters_untried
    stage = ->(bytes) { bytes == "bad" ? raise(Guildhall::DecodeError, "bad") : bytes }
    @failing << 0
    kafka = kafka(consumer(@failing)) do
      deserializer stage
      dead_letter_queue topic: "dead", max_retries: 50, dispatch_undecodable: true
    end
    kafka.deliver(0...3).work(20)
    kafka.deliver(3...9) { |offset| offset == 3 ? "bad" : "good" }.work(20)
    @failing.clear
    kafka.work
    assert_equal [[3], [0, 6], 9], [kafka.dead, of_key(0), kafka.committed]
  end

  def test_the_partition_rests_when_too_many_keys_wait
    @failing.push(0, 1)
    kafka = kafka(consumer(@failing), limits: {max_parked_keys: 2}).deliver(0...3).deliver(3...9)
    kafka.work(60)
    assert_equal [[2], true], [@seen, kafka.partition.paused?]
    assert_equal [2, 2], events(kafka, "key.limit_reached").first.values_at(:keys, :messages)
    @failing.delete(0)
    kafka.work(60)
    assert_equal [false, [0, 3, 6], [2, 5, 8]], [kafka.partition.paused?, of_key(0), of_key(2)]
    @failing.clear
    kafka.work
    assert_equal [9, [1, 4, 7]], [kafka.committed, of_key(1)]
  end

  def test_the_partition_rests_when_too_many_messages_wait
    @failing << 0
    kafka = kafka(consumer(@failing), limits: {max_parked_messages: 3}).deliver(0...9).deliver(9...12)
    kafka.work(60)
    assert_predicate kafka.partition, :paused?
    refute_includes @seen, 10
    @failing.clear
    kafka.work
    assert_equal [(0...12).to_a, 12], [@seen.sort, kafka.committed]
  end

  def test_the_partition_rests_when_done_ranges_do_not_fit_beside_the_offset
    failing = @failing << 0
    seen = @seen
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each do |message|
          raise "no" if failing.include?(message.offset)

          mark_as_consumed(message, "x" * 2_998)
          seen << message.offset
        end
      end
    end
    kafka = kafka(consumer).deliver(0...3).deliver(3...9)
    kafka.work(60)
    assert_equal [[1, 2], true], [@seen.sort, kafka.partition.paused?]
    @failing.clear
    kafka.work
    assert_equal [(0...9).to_a, 9], [@seen.sort, kafka.committed]
  end

  def test_a_seek_just_before_the_partition_rests_for_parked_keys_leaves_it_open
    @failing << 0
    kafka = kafka(consumer(@failing), limits: {max_parked_keys: 1}, pause_timeout: 60, pause_max_timeout: 60).deliver(0...3)
    kafka.work_now
    kafka.partition.parked_keys.define_singleton_method(:full?) { super().tap { kafka.partition.seek(0) unless kafka.partition.sought? } }
    kafka.deliver(3...6).work_now
    refute_predicate kafka.partition, :paused?
    assert_empty events(kafka, "key.limit_reached")
  end

  def test_a_user_s_pause_holds_up_parked_keys_too
    @failing << 0
    kafka = kafka(consumer(@failing)).deliver(0...3)
    kafka.work(20)
    kafka.partition.pause(nil)
    kafka.work
    before = @attempts.size
    kafka.work
    assert_equal before, @attempts.size
    @failing.clear
    kafka.partition.resume
    kafka.work
    assert_equal [[0], 3], [of_key(0), kafka.committed]
  end

  def test_after_a_seek_no_key_waits
    @failing << 0
    kafka = kafka(consumer(@failing)).deliver(0...6)
    kafka.work(30)
    kafka.partition.seek(0)
    @seen.clear
    @failing.clear
    kafka.work
    assert_equal [[0, 0], []], [kafka.partition.parked_keys.counts, @seen]
    kafka.deliver(0...6).work
    assert_equal [(0...6).to_a, 6], [@seen.sort, kafka.committed]
  end

  def test_the_next_assignment_does_what_was_not_done
    @failing << 0
    kafka = kafka(consumer(@failing), pause_timeout: 60, pause_max_timeout: 60).deliver(0...6).deliver(6...9)
    kafka.work_now
    kafka.partition.leave(:shutdown)
    kafka.work_now
    kafka.partition.close
    client = KafkaPartition::Client.new
    client.kept = kafka.client.stored.last
    before = @seen.dup
    @failing.clear
    second = kafka(consumer(@failing), client:)
    second.deliver(0...4).work
    assert_equal [8, []], stored_again(second, client), "what is done further on is not forgotten"
    second.deliver(4...9).work
    assert_equal [(0...9).to_a, [0, 3, 6], 9], [@seen.sort, @seen - before, second.committed]
  end

  def stored_again(kafka, client)
    kafka.partition.store
    offset, metadata = client.stored.last
    ranges = Guildhall::Kafka::Partition::DoneRanges.load(offset, metadata)
    [ranges.last&.end ? ranges.last.end - 1 : offset, []]
  end

  # Of a strategy that raises it is not known what it wants.
  def test_a_strategy_that_raises_makes_the_key_wait
    @failing << 0
    asked = []
    strategy = ->(_, _) { (asked << true).size < 3 ? raise("no idea") : :skip }
    kafka = kafka(consumer(@failing)) { dead_letter_queue topic: false, strategy: }.deliver(0...6)
    kafka.work
    assert_equal [[3], 6, 2], [of_key(0), kafka.committed, kafka.errors.count { |error| error.message == "no idea" }]
  end

  def test_it_is_given_up_while_a_key_waits_and_while_one_is_tried
    @failing << 0
    gone = []
    consumer = consumer(@failing)
    consumer.define_method(:revoked) { gone << object_id }
    kafka = kafka(consumer).deliver(0...3)
    kafka.work(20)
    kafka.partition.leave(:revoked)
    assert kafka.work, "nothing is left to be done"
    assert_operator gone.uniq.size, :>=, 2, "the consumer of parked keys is notified, too"
    assert_equal [0, 0], kafka.partition.parked_keys.counts
  end

  # That consumer may be inside `consume`, on another runner.
  def test_the_consumer_that_tries_parked_keys_gets_no_events_but_the_end
    told = []
    inside = nil
    kafka = nil
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        next unless messages.first.offset.zero?

        inside = self if attempt > 1
        if attempt == 2
          kafka.partition.notify(:tick)
          Thread.new(kafka.application.runners.jobs.shift, &:run).join
        end
        raise "no" if attempt < 3
      end
      define_method(:tick) { told << [:tick, equal?(inside)] }
      define_method(:revoked) { told << [:revoked, equal?(inside)] }
    end
    kafka = kafka(consumer).deliver(0...3)
    kafka.work(30)
    kafka.partition.leave(:revoked)
    kafka.work
    assert_includes told, [:tick, false]
    assert_equal [[:revoked, true]], told.select(&:last)
  end

  def test_a_consumer_that_ends_its_thread_while_it_tries_a_parked_key_has_failed_once
    calls = 0
    kafka = kafka(Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        next unless messages.first.offset.zero?

        calls += 1
        raise "no" if calls == 1

        Thread.exit if calls == 2
      end
    end).deliver(0...3)
    Thread.new { kafka.run_next || kafka.application.timer.pass }.join until kafka.committed == 3
    assert_equal [3, [RuntimeError, Guildhall::TaskError]], [calls, kafka.errors.map(&:class)]
  end

  def test_a_consumer_that_cannot_be_made_says_nothing_about_the_message
    made = 0
    failing = @failing << 0
    consumer = consumer(failing)
    consumer.define_method(:initialized) do
      made += 1
      failing.clear if made == 4
      raise "no connection" if made.between?(3, 4)
    end
    kafka = kafka(consumer) { dead_letter_queue topic: "dead", max_retries: 1 }.deliver(0...3)
    kafka.work(60)
    assert_equal [[], 3], [kafka.dead, kafka.committed]
    assert_equal ["no connection"], kafka.application.errors.map { |error, *| error.message }.uniq - ["no 0"]
  end

  def test_a_consumer_that_ends_its_thread_holds_up_its_key_only
    ended = []
    seen = @seen
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        Thread.exit if messages.first.offset.zero? && (ended << true).size == 1
        seen.concat(messages.map(&:offset))
      end
    end
    kafka = kafka(consumer).deliver(0...6)
    200.times { Thread.new { kafka.work(1) }.join }
    assert_equal [(0...6).to_a, 6, Guildhall::TaskError], [@seen.sort, kafka.committed, kafka.errors.first.class]
  end

  # The first time that the subscriber is called.
  %w[key.parked key.resumed consumer.retrying error.occurred].each do |name|
    define_method(:"test_a_subscriber_of_#{name.tr(".", "_")}_that_ends_its_thread_holds_up_nothing") do
      failing = [0]
      kafka = kafka(consumer(failing), limits: {max_parked_keys: 1}).deliver(0...6).deliver(6...9)
      told = []
      exit_once = ->(event) { Thread.exit if event == name && (told << event).size == 1 }
      kafka.application.define_singleton_method(:publish) { |event, **payload| super(event, **payload).tap { exit_once.call(event) } }
      kafka.application.define_singleton_method(:error) { |*error, **place| super(*error, **place).tap { exit_once.call("error.occurred") } }
      200.times do
        Thread.new { kafka.work(1) }.join
        failing.clear if @attempts.size > 6 && kafka.partition.paused?
      end
      assert_operator told.size, :>=, 1
      assert_equal [[0, 3, 6], 9, [0, 0]], [of_key(0), kafka.committed, kafka.partition.parked_keys.counts]
    end
  end

  # A key of the user's that cannot be shown.
  Nameless = Struct.new(:number) { def to_s = raise("no name") }

  def test_a_key_without_a_name_is_parked_as_any_other
    @failing << 3
    kafka = KafkaPartition.new(consumer(@failing)) do
      virtual_partitions partitioner: ->(message) { Nameless.new(message.offset % 3) }, max: 2
      ordering :key
    end
    kafka.deliver(0...6).work(40)
    @failing.clear
    kafka.work
    assert_equal [[0, 3], 6], [of_key(0), kafka.committed]
    assert_equal ["KafkaKeyOrderingTest::Nameless"], events(kafka, "key.resumed").map { |event| event[:key] }
  end

  def test_messages_that_consume_leaves_early_come_again
    left = []
    seen = @seen
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each_marking do |message|
          break if message.offset == 3 && (left << true).size == 1

          seen << message.offset
        end
      end
    end
    kafka = kafka(consumer).deliver(0...9)
    kafka.work
    assert_equal [[0, 3, 6], 9], [of_key(0), kafka.committed]
    assert_empty kafka.errors
  end
end
