# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"
require "guildhall/json"

# A dead letter topic that cannot be written to: what was decided is carried out later, without another call of the consumer.
class KafkaDeadLettersTest < GuildhallTest
  DENIED = 29 # TOPIC_AUTHORIZATION_FAILED
  TOO_LARGE = 10
  MISSING = 3
  # Its offsets modulo 3 are the keys.
  MODULO = ->(message) { message.offset % 3 }

  ROUTES = {
    in_order: -> {},
    virtual: -> { virtual_partitions partitioner: MODULO, max: 3 },
    keyed: lambda {
      virtual_partitions partitioner: MODULO, reducer: :itself.to_proc, max: 2
      ordering :key
    }
  }.freeze

  def setup
    @calls = Hash.new(0)
    @seen = []
  end

  # Fails at offset 1.
  def consumer
    calls = @calls
    seen = @seen
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        messages.each_marking do |message|
          calls[message.offset] += 1
          raise "no #{message.offset}" if message.offset == 1

          seen << message.offset
        end
      end
    end
  end

  def kafka(route = ROUTES[:in_order], **settings, &more)
    KafkaPartition.new(consumer, **settings) do
      dead_letter_queue topic: "dead", max_retries: 2
      instance_exec(&route)
      instance_exec(&more) if more
    end
  end

  def blocked(kafka) = kafka.application.events.filter_map { |name, payload| payload if name == "dead_letter_queue.blocked" }

  ROUTES.each do |name, route|
    define_method(:"test_the_consumer_is_not_called_again_#{name}") do
      kafka = kafka(route)
      kafka.application.producer.down = DENIED
      kafka.deliver(0...9).work(60)
      assert_operator blocked(kafka).size, :>, 3
      calls = name == :virtual ? 4 : 3 # together with others at first, which does not count as its own attempt
      assert_equal [calls, []], [@calls[1], kafka.dead]
      kafka.application.producer.down = false
      assert kafka.work
      assert_equal [calls, [1], 9, [*0...9] - [1]], [@calls[1], kafka.dead, kafka.committed, @seen.uniq.sort]
      assert_equal "3", kafka.application.dead_letters.first[:headers]["source_attempts"]
      assert_nil kafka.partition.blocked
    end

    define_method(:"test_its_state_is_visible_#{name}") do
      kafka = kafka(route)
      kafka.application.producer.down = TOO_LARGE
      kafka.deliver(0...3).work(60)
      assert_match(/; topic dead cannot be written: .*Message size too large.*; raise max\.message\.bytes of topic dead \(since .*, attempt \d+\)>\z/,
        kafka.partition.inspect)
      last = blocked(kafka).last
      assert_equal({group: "group", topic: "t", partition: 0, offset: 1, to: "dead"}, last.slice(:group, :topic, :partition, :offset, :to))
      assert_equal [blocked(kafka).size, kafka.partition.blocked.since], last.values_at(:attempt, :since)
      kafka.client.define_singleton_method(:end_offset) { |*| 3 }
      assert_equal kafka.partition.blocked.to_s, kafka.partition.measure_lag[:blocked]
    end
  end

  def test_undecodable_payloads_wait_for_their_topic_without_the_consumer
    kafka = KafkaPartition.new(consumer) do
      deserializer Guildhall::JSON
      dead_letter_queue topic: "dead", dispatch_undecodable: true
    end
    kafka.application.producer.down = MISSING
    kafka.deliver([2, 3]) { |offset| offset == 2 ? "{" : "1" }.work(60)
    assert_equal [{}, "attempt 1"], [@calls, kafka.partition.inspect[/attempt 1\b/]]
    assert_match(/create topic dead/, kafka.partition.blocked.reason)
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [[2], [3], 4], [kafka.dead, @seen, kafka.committed]
  end

  def test_undecodable_payloads_that_the_broker_confirms_at_once_are_not_consumed
    seen = []
    raw = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { seen.concat(messages.map(&:offset)) } }
    kafka = KafkaPartition.new(raw) do
      deserializer Guildhall::JSON
      dead_letter_queue topic: "dead", dispatch_undecodable: true
    end
    sending = []
    kafka.application.define_singleton_method(:in_background) { |&work| sending << work }
    confirm = -> { sending.shift.call until sending.empty? }
    progress = kafka.partition.progress
    progress.define_singleton_method(:pending) { |batch| super(batch).tap { confirm.call } } # just after they were looked at
    kafka.deliver([2, 3]) { |offset| offset == 2 ? "{" : "1" }.work
    confirm.call
    assert kafka.work
    assert_equal [[2], [3], 4], [kafka.dead, seen, kafka.committed]
  end

  def test_an_error_after_all_were_sent_holds_up_nothing
    kafka = kafka()
    broken = [:dead_letters]
    kafka.partition.inbox.define_singleton_method(:resume) do |reason, *pause|
      super(reason, *pause).tap { raise "broken" if broken.delete(reason) }
    end
    assert kafka.deliver(0...3).work
    assert_equal [[1], [0, 2], 3, "broken"], [kafka.dead, @seen, kafka.committed, kafka.errors.last.message]
  end

  def test_an_error_that_is_no_strategy_s_is_one_of_the_partition
    kafka = KafkaPartition.new(consumer, pause_timeout: 60, pause_max_timeout: 60)
    kafka.partition.progress.define_singleton_method(:unmarked_before) { |_| raise "broken" }
    kafka.deliver([1]).work_now
    assert_equal [%w[broken partition], true], [kafka.application.errors.last.first(2).map(&:to_s), kafka.partition.paused?]
  end

  def test_an_error_after_a_message_was_sent_and_before_it_is_marked_holds_up_nothing
    kafka = kafka()
    broken = [1]
    kafka.partition.progress.define_singleton_method(:mark_each) do |generation, &marks|
      super(generation) { marks.call.each { |offset, _| raise "broken" if broken.delete(offset) } }
    end
    assert kafka.deliver(0...3).work
    assert_equal [[1, 1], [0, 2], 3], [kafka.dead, @seen, kafka.committed], "it was consumed again"
  end

  def test_pauses_grow_as_in_an_outage
    kafka = kafka(pause_timeout: 0.001, pause_max_timeout: 0.008)
    kafka.application.producer.down = true
    kafka.deliver(0...3).work(60)
    blocked(kafka).map { |payload| payload[:seconds] }.zip([1, 2, 4, 8, 8]).first(5).each do |seconds, expected|
      assert_in_delta expected / 1000.0, seconds, expected / 1000.0 * 0.21
    end
  end

  def test_it_is_reported_once_and_then_in_reminders
    kafka = kafka()
    kafka.application.producer.down = DENIED
    kafka.deliver(0...3).work(60)
    reports = -> { kafka.application.errors.filter_map { |_, type, payload| payload if type == "dead_letter_queue" } }
    assert_equal [{group: "group", topic: "t", partition: 0, offset: 1, to: "dead", attempt: 1}], reports.call.map { |one| one.except(:since) }
    assert_match(%r{\At/0@1 could not be sent to the dead letter topic dead, and is sent again; its partition waits: .*; grant WRITE and DESCRIBE on topic dead},
      kafka.errors.last.message)
    kafka.application.producer.down = TOO_LARGE # for another reason
    kafka.work(20)
    assert_equal 2, reports.call.size
  end

  # The first time that the subscriber is called.
  %w[dead_letter_queue.blocked error.occurred].each do |name|
    define_method(:"test_a_subscriber_of_#{name.tr(".", "_")}_that_ends_its_thread_holds_up_nothing") do
      kafka = kafka()
      kafka.application.producer.down = DENIED
      told = []
      exit_once = ->(event, about) { Thread.exit if event == name && about == "dead_letter_queue" && (told << event).size == 1 }
      kafka.application.define_singleton_method(:publish) { |event, **payload| super(event, **payload).tap { exit_once.call(event, event[/\w+/]) } }
      kafka.application.define_singleton_method(:error) { |raised, type, **place| super(raised, type, **place).tap { exit_once.call("error.occurred", type) } }
      kafka.deliver(0...3)
      20.times { Thread.new { kafka.work(3) }.join }
      kafka.application.producer.down = false
      20.times { Thread.new { kafka.work(3) }.join }
      assert_operator told.size, :>=, 1
      assert_equal [[1], 3], [kafka.dead, kafka.committed]
    end
  end

  def test_a_retry_topic_is_written_to_without_the_consumer_as_well
    kafka = KafkaPartition.new(consumer) do
      dead_letter_queue topic: "dead"
      retry_topics 5
    end
    kafka.application.producer.down = DENIED
    kafka.deliver(0...3).work(40)
    assert_equal [1, "t.group.retry.5"], [@calls[1], kafka.partition.blocked.to]
    kafka.application.producer.down = false
    assert kafka.work
    assert_equal [1, ["t.group.retry.5"], 3], [@calls[1], kafka.application.dead_letters.map { |letter| letter[:topic] }, kafka.committed]
  end

  def test_a_seek_makes_void_what_was_to_be_sent
    kafka = kafka()
    kafka.application.producer.down = DENIED
    kafka.deliver(0...3).work(40)
    kafka.partition.seek(2)
    kafka.work(40)
    refute_predicate kafka.partition, :paused?
    kafka.application.producer.down = false
    kafka.deliver(2...4)
    assert kafka.work
    assert_equal [[], [0, 2, 3], 4, nil], [kafka.dead, @seen, kafka.committed, kafka.partition.blocked]
  end

  def test_the_next_owner_of_the_partition_begins_with_the_message
    kafka = kafka()
    kafka.application.producer.down = DENIED
    kafka.deliver(0...3).work(40)
    kafka.partition.leave(:revoked)
    kafka.work
    assert kafka.partition.wait(0)
    kafka.application.producer.down = false
    kafka.work
    assert_equal [[], 1], [kafka.dead, kafka.committed]
  end

  def test_no_runner_waits_and_what_is_on_its_way_is_waited_for_when_the_partition_is_left
    kafka = kafka()
    sending = []
    kafka.application.define_singleton_method(:in_background) { |&block| sending << block }
    kafka.deliver(0...3).work
    assert_equal [1, true, false], [sending.size, kafka.partition.paused?, kafka.partition.working?]
    kafka.partition.leave(:shutdown)
    kafka.work
    refute kafka.partition.wait(0), "left before the broker had the message"
    sending.shift.call
    kafka.work
    assert_equal [true, [1], 2], [kafka.partition.wait(0), kafka.dead, kafka.committed]
  end

  # A handle that is never confirmed.
  class Pending
    def initialize = @waits = 0

    def await(*)
      raise "waited for again" if (@waits += 1) > 1

      raise Guildhall::TimeoutError, "too late"
    end
  end

  def test_a_partition_that_is_left_does_not_wait_for_a_topic_that_did_not_answer_before
    kafka = kafka()
    abandoned = []
    kafka.application.define_singleton_method(:abandon) { |handle| abandoned << handle }
    kafka.application.producer.down = DENIED
    kafka.deliver(0...3).work(40)
    kafka.application.producer.down = false
    kafka.application.producer.define_singleton_method(:start) do |_message|
      kafka.partition.leave(:shutdown)
      Pending.new
    end
    kafka.work(20)
    assert_equal [true, 1], [kafka.partition.wait(0), abandoned.size]
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

  def test_what_is_not_confirmed_is_visible_before_it_fails
    kafka = kafka()
    handle = Late.new
    sending = nil
    kafka.application.define_singleton_method(:in_background) { |&block| sending = Thread.new(&block) }
    kafka.application.producer.define_singleton_method(:start) { |_message| handle }
    kafka.application.producer.define_singleton_method(:wait_seconds) { 60 }
    kafka.deliver(0...3).work
    eventually { kafka.partition.blocked }
    assert_match(/topic dead cannot be written: no broker has confirmed .* check that the topic exists.* attempt 0/, kafka.partition.blocked.to_s)
    assert_equal [["dead", 0, nil]], blocked(kafka).map { |event| event.values_at(:to, :attempt, :seconds) }
    handle.confirm
    assert sending.join(60)
    kafka.work
    assert_equal [nil, 3], [kafka.partition.blocked, kafka.committed]
  end

  def test_a_strategy_that_raises_is_asked_with_growing_pauses
    kafka = KafkaPartition.new(consumer, pause_timeout: 0.001, pause_max_timeout: 0.008) do
      dead_letter_queue topic: "dead", strategy: ->(_, _) { raise "unsure" }
    end
    kafka.deliver(0...3).work(12)
    pauses = kafka.application.events.filter_map { |name, payload| payload[:seconds] if name == "consumer.retrying" }
    [1, 2, 4, 8].zip(pauses) { |expected, seconds| assert_in_delta expected / 1000.0, seconds, expected / 1000.0 * 0.21 }
  end
end
