# frozen_string_literal: true

require "test_helper"
require "sqlite3"
require "support/kafka_partition"

# What consumers may do, and what becomes of their messages then; without a broker.
class KafkaPartitionTest < GuildhallTest
  # No StandardError.
  class Odd < Exception; end # rubocop:disable Lint/InheritException -- such are meant

  # A consumer whose `consume` is a block.
  def consumer(&block)
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) { instance_exec(&block) }
    end
  end

  def kafka(consumer, **settings, &) = KafkaPartition.new(consumer, **settings, &)

  def test_cuts_up_what_came_without_a_limit
    batches = []
    kafka = kafka(consumer { batches << [messages.bytes, *messages.payloads] }, max_messages: 4).deliver(8...14)
    kafka.work
    assert_equal [[6, "8", "9", "10", "11"], [4, "12", "13"]], batches
  end

  def test_how_long_it_makes_no_progress
    since = []
    kafka = kafka(consumer do
      since << (Guildhall::Clock.now - kafka.partition.seconds_without_progress)
      mark_as_consumed(messages.first)
      since << (Guildhall::Clock.now - kafka.partition.seconds_without_progress)
    end)
    assert_nil kafka.partition.seconds_without_progress
    kafka.deliver(0...3).work
    assert_operator since[0], :<, since[1]
    assert_nil kafka.partition.seconds_without_progress
  end

  def test_a_users_pause_outlasts_an_error
    calls = 0
    kafka = kafka(consumer do
      calls += 1
      next unless calls == 1

      pause
      raise "the database is down"
    end).deliver(0...3)
    assert kafka.work
    assert_equal [1, true], [calls, kafka.partition.paused?]
    kafka.partition.resume
    kafka.work
    assert_equal [2, 3], [calls, kafka.committed]
  end

  def test_resume_ends_no_back_off
    calls = 0
    kafka = kafka(consumer { raise "once" if (calls += 1) == 1 }, pause_timeout: 60, pause_max_timeout: 60).deliver(0...3)
    kafka.work_now
    kafka.partition.resume
    kafka.work_now
    assert_equal [1, true], [calls, kafka.partition.paused?]
  end

  def test_quiet_outlasts_an_error_and_a_resume
    calls = 0
    kafka = kafka(consumer { (calls += 1) && raise("always") })
    kafka.deliver(0...3).work(1)
    kafka.application.quiet = true
    kafka.partition.follow_quiet
    kafka.partition.resume
    assert kafka.work
    kafka.deliver(3...6)
    assert kafka.work
    assert_equal [1, true], [calls, kafka.partition.paused?]
  end

  def test_events_of_pauses_say_what_has_happened
    kafka = kafka(consumer { nil })
    partition = kafka.partition
    place = {group: "group", topic: "t", partition: 0}
    paused = ["partition.paused", {**place, seconds: nil}]
    resumed = ["partition.resumed", place]
    assert_empty kafka.application.events, "it was assigned"
    kafka.application.quiet = true
    2.times { partition.follow_quiet }
    assert_equal [paused], kafka.application.events
    kafka.application.quiet = false
    2.times { partition.follow_quiet }
    assert_equal [paused, resumed], kafka.application.events
    kafka.application.quiet = true
    partition.begin
    assert_equal [paused, resumed, paused], kafka.application.events
    partition.leave(:revoked)
    partition.follow_quiet
    assert_equal 3, kafka.application.events.size
  end

  def test_an_application_that_becomes_quiet_while_a_partition_begins_stays_so
    [1, 2].each do |question|
      kafka = kafka(consumer { nil })
      partition = kafka.partition
      asked = 0
      kafka.application.define_singleton_method(:quiet?) do
        asked += 1
        super().tap { (@quiet = true) && partition.follow_quiet if asked == question } # by another thread, behind the answer
      end
      partition.begin
      assert_predicate partition, :paused?, question
    end
  end

  def test_a_user_s_pause_is_told_with_its_end
    kafka = kafka(consumer { nil })
    partition = kafka.partition
    place = {group: "group", topic: "t", partition: 0}
    partition.resume
    assert_empty kafka.application.events, "it was not paused"
    partition.pause(0.001)
    kafka.work
    partition.resume
    assert_equal [["partition.paused", {**place, seconds: 0.001}], ["partition.resumed", place]], kafka.application.events
    partition.pause(0.001)
    2.times { partition.resume }
    kafka.work
    assert_equal 4, kafka.application.events.size
    partition.leave(:revoked)
    partition.pause(1)
    assert_equal 4, kafka.application.events.size
  end

  def test_whether_it_was_sought
    kafka = kafka(consumer { nil }).deliver(0...3)
    kafka.partition.read_on(0) # by itself
    kafka.work
    refute_predicate kafka.partition, :sought?
    kafka.partition.seek(1)
    assert_predicate kafka.partition, :sought?
  end

  def test_marks_behind_a_seek_do_not_undo_it
    seen = []
    kafka = kafka(consumer do
      messages.each do |message|
        seen << message.offset
        seek(3) if message.offset == 7 && seen.count(7) == 1
        mark_as_consumed(message)
      end
    end).deliver(0...10)
    kafka.work
    assert_equal [3, 3], [kafka.client.sought, kafka.committed]
    kafka.deliver(3...10)
    kafka.work
    assert_equal [*0..9, *3..9], seen
    assert_equal 10, kafka.committed
  end

  def test_a_seek_is_committed_although_nothing_is_read_before_the_end
    [false, true].each do |manual|
      kafka = kafka(consumer do
        messages.each { |message| mark_as_consumed(message) }
        pause(2, 60)
      end) { manual_offset_management manual }
      kafka.deliver(0...10).work_now
      kafka.partition.leave(:shutdown)
      kafka.work
      kafka.partition.close
      assert_equal [[2, nil]], kafka.client.committed_to
      assert_empty kafka.errors
    end
  end

  def test_a_seek_beyond_the_end_loses_nothing_where_reading_begins_again
    seen = []
    kafka = kafka(consumer { messages.each { |message| seen << message.offset } })
    kafka.deliver(0...3).work
    kafka.partition.seek(1_000)
    kafka.work
    kafka.deliver(0...3).work
    assert_equal [0, 1, 2] * 2, seen
    assert_equal [3, [3, nil]], [kafka.committed, kafka.client.committed_to.last]
  end

  def test_shares_that_end_behind_a_seek_do_not_undo_it
    seen = []
    partitioner = ->(message) { message.offset % 4 }
    kafka = kafka(consumer do
      messages.each { |message| seen << message.offset }
      seek(0) if messages.first.offset.zero? && seen.count(0) == 1
    end) { virtual_partitions partitioner:, reducer: :itself.to_proc, max: 4 }
    kafka.deliver(0...20).work
    assert_equal 0, kafka.committed
    kafka.deliver(0...20).work
    assert_equal 40, seen.size
    assert_equal 20, kafka.committed
  end

  def test_what_is_given_back_without_marks_is_delivered_again_and_no_attempt
    calls = []
    kafka = kafka(consumer do
      calls << [attempt, messages.map(&:offset)]
      redeliver_unmarked if calls.size < 3
    end) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...3).work
    assert_equal [[1, [0, 1, 2]]] * 3, calls
    assert_equal [3, [], []], [kafka.committed, kafka.dead, kafka.errors]
    assert_equal 2, kafka.application.events.count { |name, _| name == "consumer.retrying" }
  end

  def test_only_what_was_not_marked_is_delivered_again
    calls = []
    kafka = kafka(consumer do
      calls << messages.map(&:offset)
      mark_as_consumed(messages.first)
      redeliver_unmarked
    end).deliver(0...3)
    kafka.work_now
    assert_equal [[0, 1, 2], [1, 2], [2]], calls, "at once"
    assert_equal 3, kafka.committed
  end

  def test_each_marking_that_is_left_by_break_leaves_the_rest
    calls = []
    kafka = kafka(consumer do
      calls << []
      messages.each_marking do |message|
        break if calls.last.size == 2

        calls.last << message.offset
      end
    end).deliver(0...5)
    kafka.work
    assert_equal [[0, 1], [2, 3], [4]], calls
    assert_equal 5, kafka.committed
  end

  def test_each_marking_finds_the_message_that_fails
    tries = Hash.new(0)
    kafka = kafka(consumer { messages.each_marking { |message| raise "bad" if (tries[message.offset] += 1) && message.offset == 2 } }) do
      dead_letter_queue topic: "dead", max_retries: 2
    end
    kafka.deliver(0...5).work
    assert_equal({0 => 1, 1 => 1, 2 => 3, 3 => 1, 4 => 1}, tries)
    assert_equal [[2], 5], [kafka.dead, kafka.committed]
  end

  def test_when_it_stops_only_marks_count_where_there_are_marks
    kafka = nil
    kafka = kafka(consumer do
      messages.each do |message|
        break if stopping?

        mark_as_consumed(message)
        kafka.partition.leave(:shutdown) if message.offset == 9
      end
    end).deliver(0...40)
    kafka.work
    assert_equal 10, kafka.committed
  end

  def test_when_it_is_revoked_a_consumer_without_marks_has_finished
    kafka = nil
    kafka = kafka(consumer { kafka.partition.leave(:revoked) if revoked? == false }).deliver(0...40)
    kafka.work
    assert_equal 40, kafka.committed
  end

  def test_a_consumer_without_marks_gives_back_what_it_has_not_done_when_it_stops
    kafka = nil
    kafka = kafka(consumer do
      kafka.partition.leave(:revoked)
      redeliver_unmarked if revoked?
    end).deliver(0...40)
    kafka.work
    assert_equal 0, kafka.committed
  end

  def test_at_most_once_reports_each_error_and_repeats_nothing
    seen = []
    kafka = kafka(consumer { messages.each { |message| (seen << message.offset) && message.offset % 10 == 3 && raise("bad") } }, max_messages: 10) do
      delivery :at_most_once
    end
    kafka.deliver(0...20).work
    assert_equal [*0..3, *10..13], seen
    assert_equal [20, 20, 2, []], [kafka.committed, kafka.partition.progress.next, kafka.errors.size, kafka.dead]
  end

  def test_at_most_once_consumes_nothing_that_is_not_committed
    seen = []
    kafka = kafka(consumer { seen.concat(messages.map(&:offset)) }) { delivery :at_most_once }
    kafka.client.commit_error = Rdkafka::RdkafkaError.new(-195)
    kafka.deliver(0...3).work(5)
    assert_empty seen
    kafka.client.commit_error = nil
    kafka.work
    assert_equal [0, 1, 2], seen
  end

  def test_at_most_once_consumes_nothing_when_the_group_has_moved_on
    seen = []
    kafka = kafka(consumer { seen.concat(messages.map(&:offset)) }) { delivery :at_most_once }
    ours = false
    kafka.client.define_singleton_method(:commit) { |**| ours }
    kafka.deliver(0...3).work(5)
    assert_empty seen
    ours = true
    kafka.work
    assert_equal [0, 1, 2], seen
  end

  def test_a_manual_dead_letter_is_stored_once_everything_before_it_is_marked
    late = instance = nil
    kafka = kafka(consumer do
      instance = self
      messages.each { |message| message.offset == 2 ? raise("bad") : late = message }
    end) do
      manual_offset_management true
      dead_letter_queue topic: "dead", max_retries: 0
    end
    kafka.deliver(0...4).work
    assert_equal [[2], 0], [kafka.dead, kafka.committed]
    assert_includes kafka.client.stored.last.last, Guildhall::Kafka::Partition::DoneRanges::MARK
    instance.mark_offset(1)
    assert_equal 3, kafka.committed
    instance.mark_as_consumed(late)
    assert_equal 4, kafka.committed
  end

  # Collects rows of several batches, and forgets them where the insert fails.
  def buffering(inserted, failures)
    consumer do
      @rows = [*@rows, *messages.map(&:offset)]
      next if @rows.size < 10

      begin
        raise "no insert" if (failures[0] -= 1) >= 0

        inserted.concat(@rows)
        mark_as_consumed(messages.last)
      ensure
        @rows = []
      end
    end
  end

  def feed(kafka) = [0...4, 4...8, 8...12].each { |offsets| kafka.deliver(offsets).work }

  def test_with_manual_offsets_an_error_brings_back_what_earlier_batches_have_left_unmarked
    inserted = []
    kafka = kafka(buffering(inserted, [1])) { manual_offset_management true }
    feed(kafka)
    assert_equal [0, [], 0], [kafka.client.sought, inserted, kafka.committed]
    feed(kafka)
    assert_equal [[*0...12], 12], [inserted, kafka.committed]
    assert_equal [0, 1], kafka.application.events.to_h["consumer.retrying"].values_at(:offset, :attempt)
  end

  def test_what_waits_behind_the_batch_that_has_failed_comes_after_what_is_brought_back
    inserted = []
    kafka = kafka(buffering(inserted, [1])) { manual_offset_management true }
    [0...4, 4...8, 8...12, 12...16].each { |offsets| kafka.deliver(offsets) }
    kafka.work
    assert_equal [0, []], [kafka.client.sought, inserted]
    feed(kafka)
    assert_equal [*0...12], inserted
  end

  def test_no_message_is_dead_lettered_while_one_of_an_earlier_batch_may_have_failed
    inserted = []
    kafka = kafka(buffering(inserted, [4])) do
      manual_offset_management true
      dead_letter_queue topic: "dead", max_retries: 1
    end
    5.times { feed(kafka) }
    assert_equal [[*0...12], [], 12], [inserted, kafka.dead, kafka.committed]
    assert_equal 3, kafka.errors.grep(Guildhall::Kafka::UnmarkedError).size, "at every attempt but the first two"
    assert_includes kafka.errors.grep(Guildhall::Kafka::UnmarkedError).first.message, "t/0@0"
  end

  def test_isolation_ends_with_a_seek
    sizes = []
    kafka = kafka(consumer do
      sizes << messages.size
      seek(0) if sizes.size == 2
      messages.to_a
      raise "any of them" if sizes.size < 3
    end) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...8).work_now
    kafka.deliver(0...8).work
    assert_equal [8, 4, 8], sizes
  end

  def test_redeliver_unmarked_brings_back_what_earlier_batches_have_left_unmarked
    kafka = kafka(consumer { redeliver_unmarked if messages.first.offset == 4 }) { manual_offset_management true }
    kafka.deliver(0...4).deliver(4...8).work
    assert_equal 0, kafka.client.sought
    refute_predicate kafka.partition, :working?
  end

  def test_what_a_buffer_holds_can_be_inserted_and_marked_in_a_tick_and_at_the_end
    %i[tick shutdown revoked].each do |event|
      klass = consumer { @last = messages.last }
      klass.define_method(event) { mark_as_consumed(@last) }
      kafka = kafka(klass) { manual_offset_management true }
      kafka.deliver(0...4).deliver(4...8).work
      event == :tick ? kafka.partition.notify(:tick) : kafka.partition.leave(event)
      kafka.work
      kafka.partition.close
      assert_equal [8, nil], kafka.client.stored.last
    end
  end

  def test_a_partitioner_that_raises_costs_its_message_alone
    seen = []
    partitioner = ->(message) { Integer(message.payload) % 3 }
    kafka = kafka(consumer { messages.each { |message| seen << Integer(message.payload) } }) do
      virtual_partitions partitioner:, max: 3
      dead_letter_queue topic: "dead", max_retries: 1
    end
    kafka.deliver(0...300) { |offset| offset == 200 ? "no number" : offset.to_s }.work
    assert_equal [[200], 300], [kafka.dead, kafka.committed]
    assert_equal [*0..199, *201..299], seen.sort
    assert_equal "virtual_partitions.partitioner", kafka.application.errors.first[1]
  end

  def test_an_outage_is_waited_out
    down = 5
    kafka = kafka(consumer { messages.each { raise Errno::ECONNREFUSED if (down -= 1) >= 0 } }) do
      dead_letter_queue topic: "dead", max_retries: 0
    end
    kafka.deliver(0...3).work
    assert_equal [[], 3, 5], [kafka.dead, kafka.committed, kafka.errors.size]
  end

  # A registry that is down for some calls; one payload is no number at all.
  class Registry
    attr_accessor :down

    def call(bytes)
      raise IOError, "the registry does not answer" if @down

      Integer(bytes)
    rescue ::ArgumentError
      raise Guildhall::DecodeError, "no number"
    end
  end

  def test_with_the_registry_down_nothing_goes_to_the_dead_letters
    registry = Registry.new
    registry.down = true
    seen = []
    kafka = kafka(consumer { messages.each { |message| seen << message.payload } }) do
      deserializer registry
      dead_letter_queue topic: "dead", max_retries: 0, dispatch_undecodable: true
    end
    kafka.deliver(0...5) { |offset| offset == 3 ? "three" : offset.to_s }.work(20)
    assert_equal [[], []], [kafka.dead, seen]
    registry.down = false
    kafka.work
    assert_equal [[3], [0, 1, 2, 4], 5], [kafka.dead, seen, kafka.committed]
    assert_equal "0", kafka.application.dead_letters.first[:headers]["source_attempts"]
  end

  def test_a_stage_that_fails_for_one_payload_does_not_hold_its_partition
    seen = []
    kafka = kafka(consumer { messages.each { |message| seen << message.payload } }) do
      deserializer ->(bytes) { bytes == "3" ? nil.no_such_method : bytes }
      dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true
    end
    kafka.deliver(0...5).work
    assert_equal [[3], %w[0 1 2 4]], [kafka.dead, seen.uniq]
    assert_equal "2", kafka.application.dead_letters.first[:headers]["source_attempts"]
  end

  def test_a_dead_letter_that_cannot_be_sent_is_sent_later_and_once
    kafka = kafka(consumer { messages.each_marking { |message| raise "bad" if message.offset == 1 } }) do
      dead_letter_queue topic: "dead", max_retries: 0
    end
    kafka.application.producer.down = true
    kafka.deliver(0...3).work(10)
    assert_equal [[], 1], [kafka.dead, kafka.committed]
    kafka.application.producer.down = false
    kafka.work
    assert_equal [[1], 3], [kafka.dead, kafka.committed]
  end

  def test_a_letter_that_arrives_is_not_sent_again_because_of_another
    seen = []
    kafka = kafka(consumer { messages.each { |message| seen << message.offset } }) do
      deserializer Guildhall::JSON
      dead_letter_queue topic: "dead", dispatch_undecodable: true
    end
    kafka.application.producer.failing = ["k1"]
    kafka.deliver(0...5) { |offset| offset.zero? ? "1" : "no JSON" }.work_now
    assert_equal [[1, 2, 3, 4], [Guildhall::Kafka::DeadLetterError]], [kafka.dead, kafka.errors.map(&:class)]
    kafka.work
    assert_equal [[1, 2, 3, 4, 1], [0], 5], [kafka.dead, seen, kafka.committed]
  end

  def test_a_consumer_that_cannot_be_made_for_a_tick_is_reported_with_its_partition
    made = 0
    failing = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:initialized) { raise "no database" if (made += 1) == 1 }
      def consume = nil
      def tick = nil
    end
    kafka = kafka(failing)
    2.times do
      kafka.partition.notify(:tick)
      kafka.work
    end
    assert_equal [["consumer.tick", {group: "group", topic: "t", partition: 0}]], kafka.application.errors.map { |one| one.drop(1) }
    assert_equal 2, made
  end

  def test_partitions_that_are_stalled_together_rejoin_once
    kafka = kafka(consumer { nil })
    2.times { kafka.partition.rejoin }
    first, second = kafka.listener.requests
    assert_raises(Guildhall::Kafka::StalledPartitionError) { first.call }
    kafka.partition.leave(:revoked) # as the listener does before it begins again, with what was asked of it meanwhile
    assert_nil second.call
  end

  def test_no_letter_is_sent_twice_because_the_producer_takes_no_more
    kafka = kafka(consumer { raise "never called" }) do
      deserializer ->(_bytes) { raise Guildhall::DecodeError, "no" }
      dead_letter_queue topic: "dead", dispatch_undecodable: true
    end
    full = false
    kafka.application.producer.define_singleton_method(:start) do |dead_letter|
      full = !full if @application.dead_letters.size % 3 == 2
      full ? raise(Guildhall::Kafka::ProduceError.of(-184, "dead")) : super(dead_letter)
    end
    kafka.deliver(0...10)
    assert kafka.work(100)
    assert_equal [[*0..9], 10], [kafka.dead, kafka.committed]
  end

  def test_no_letter_is_sent_twice_because_another_was_lost
    kafka = kafka(consumer { raise "never called" }) do
      deserializer ->(_bytes) { raise Guildhall::DecodeError, "no" }
      dead_letter_queue topic: "dead", dispatch_undecodable: true
    end
    lost = Class.new { def await(*) = raise(Guildhall::Kafka::ProduceError.of(-192, "dead")) }.new
    kafka.application.producer.define_singleton_method(:start) { |dead_letter| super(dead_letter).then { |handle| @application.dead_letters.size == 3 ? lost : handle } }
    kafka.deliver(0...5)
    assert kafka.work(100)
    assert_equal [[*0..4, 2], 5], [kafka.dead, kafka.committed]
  end

  def test_a_strategy_that_raises_is_reported
    asked = 0
    kafka = kafka(consumer { raise "bad" }) do
      dead_letter_queue topic: "dead", strategy: ->(_, _) { (asked += 1) < 3 ? raise("unsure") : :skip }
    end
    kafka.deliver([0]).work
    assert_equal [3, 1, []], [asked, kafka.committed, kafka.dead]
    assert_equal %w[consumer.consume strategy] * 2 + %w[consumer.consume], kafka.application.errors.map { |one| one[1] }
  end

  def test_after_whatever_a_strategy_raises_there_is_a_pause
    [-> { raise NotImplementedError, "unsure" }, -> { raise Odd, "worse" }].each do |answer|
      asked = 0
      kafka = kafka(consumer { raise "bad" }, pause_timeout: 60, pause_max_timeout: 60) do
        dead_letter_queue topic: "dead", strategy: ->(_, _) { (asked += 1) && answer.call }
      end
      kafka.deliver([0]).work_now
      assert_equal [1, true], [asked, kafka.partition.paused?]
      assert_equal %w[consumer.consume strategy], kafka.application.errors.map { |one| one[1] }
    end
  end

  def test_a_strategy_that_ends_its_thread_has_failed
    asked = 0
    kafka = kafka(consumer { raise "bad" }, pause_timeout: 0.5, pause_max_timeout: 0.5) do
      dead_letter_queue topic: "dead", strategy: ->(_, _) { (asked += 1) < 2 ? Thread.exit : :skip }
    end
    kafka.deliver([0])
    Thread.new { kafka.work_now }.join
    assert_equal [1, true, Guildhall::TaskError], [asked, kafka.partition.paused?, kafka.errors.last.class]
    kafka.work
    assert_equal [2, 1], [asked, kafka.committed]
  end

  def test_a_strategy_that_ends_its_thread_is_asked_about_a_further_attempt
    attempts = []
    kafka = kafka(consumer { raise "bad" }) do
      dead_letter_queue topic: "dead", strategy: ->(_, attempt) { (attempts << attempt).size < 3 ? Thread.exit : :skip }
    end
    kafka.deliver([0])
    3.times do
      Thread.new { kafka.work_now }.join
      kafka.application.timer.pass
    end
    kafka.work
    assert_equal [[1, 2, 3], 1], [attempts, kafka.committed]
  end

  # What was consumed in between shows that the database does what is asked of it.
  def test_contention_is_over_when_another_batch_was_consumed
    kafka = kafka(consumer { messages.each { |message| raise SQLite3::BusyException if (message.offset % 40).zero? } }) do
      dead_letter_queue topic: "dead", max_retries: 0
      retries contention_limit: 3
    end
    (0..42).each { |offset| kafka.deliver([offset]) }
    kafka.work(300)
    assert_equal [[0, 40], 43], [kafka.dead, kafka.committed]
  end

  def test_a_message_of_another_partition_cannot_be_marked
    refused = nil
    other = Guildhall::Kafka::Message.new(Guildhall::Kafka::Messages::Batch.new([KafkaPartition::Record.new(500, "x", "k")], ["x"], nil, bytes: 1), 0)
    other.record.define_singleton_method(:partition) { 1 }
    test = self
    kafka = kafka(consumer do
      refused = [other, messages.select { false }.last, "a payload"].map do |given|
        test.assert_raises(Guildhall::ArgumentError) { mark_as_consumed(given) }.message
      end
      raise "not handled"
    end).deliver(0...3)
    kafka.work(3)
    assert_equal ["#<Guildhall::Kafka::Message t/1@500>", "nil", "a String"].map { |given| "mark_as_consumed takes a message of t/0, not #{given}" }, refused
    refute_equal 501, kafka.committed
  end

  def test_offsets_that_were_not_read_cannot_be_marked
    refused = nil
    kafka = kafka(consumer do
      mark_offset(3)
    rescue Guildhall::ArgumentError => error
      refused = [error.message[/.*;/], mark_offset(2)]
    end).deliver(0...3)
    kafka.work
    assert_equal [["mark_offset(3): offset 3 and what comes behind it was not read yet, and would never be;", true], 3], [refused, kafka.committed]
  end

  def test_metadata_that_is_no_string_and_offsets_that_are_none_are_refused_where_they_are_given
    refused = []
    kafka = kafka(consumer do
      [*[42, "\xFF", "x" * 4_097].map { |metadata| -> { mark_as_consumed(messages.first, metadata) } }, *["1", -1, (2**63) - 1].map { |offset| -> { mark_offset(offset) } }].each do |call|
        call.call
      rescue Guildhall::ArgumentError => error
        refused << error.message
      end
    end).deliver(0...3)
    kafka.work
    assert_equal [*["42", '"\xFF"', "\"#{"x" * 59}…"].map { |one| "metadata beside an offset has to be a String of UTF-8, of at most 4096 bytes, not #{one}" },
                  *['"1"', -1, (2**63) - 1].map { |offset| "mark_offset takes an Integer, the offset of a message, not #{offset}" }], refused
    assert_equal 3, kafka.committed
  end

  def test_a_payload_whose_error_is_no_standard_error_does_not_hold_its_partition
    seen = []
    refuse = ->(bytes) { bytes == "1" ? raise(Odd, "odd") : bytes }
    kafka = kafka(consumer { messages.each_marking { |message| seen << message.payload } }) do
      deserializer refuse
      dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true
    end
    kafka.deliver(0...3)
    assert kafka.work(100)
    assert_equal [%w[0 2], [1], 3], [seen, kafka.dead, kafka.committed]
  end

  def test_what_was_all_marked_before_an_error_is_done
    calls = 0
    kafka = kafka(consumer do
      calls += 1
      messages.each { |message| mark_as_consumed(message) }
      raise "afterwards"
    end) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...3).work
    assert_equal [1, 3, []], [calls, kafka.committed, kafka.dead]
  end

  def test_messages_marked_in_slices_are_not_dead_lettered_for_another
    kafka = kafka(consumer do
      messages.each_slice(4) do |slice|
        raise "bad" if slice.any? { |message| message.offset == 6 }

        mark_as_consumed(slice.last)
      end
    end) { dead_letter_queue topic: "dead", max_retries: 1 }
    kafka.deliver(0...10).work
    assert_equal [[6], 10], [kafka.dead, kafka.committed]
  end

  def test_who_looks_at_the_records_has_looked_at_all_messages
    kafka = kafka(consumer do
      messages.first.timestamp
      raise "bad" if messages.records.any? { |record| record.offset == 6 }
    end) { dead_letter_queue topic: "dead", max_retries: 1 }
    kafka.deliver(0...10).work
    assert_equal [[6], 10], [kafka.dead, kafka.committed]
  end

  def test_records_that_middleware_looks_at_do_not_hide_the_message_that_fails
    calls = 0
    kafka = kafka(consumer { messages.each_marking { |message| raise "bad" if message.offset == 2 && (calls += 1) } },
      middleware: [->(call, &inner) { [call.messages&.records, inner.call].last }]) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...10).work
    assert_equal [[2], 1], [kafka.dead, calls]
  end

  # `each_marking.each_slice` would mark what the slice's block has not seen.
  def test_each_marking_without_a_block_marks_nothing
    handled = []
    kafka = kafka(consumer do
      messages.each_marking.each_slice(4) { |slice| handled.concat(slice) }
    rescue Guildhall::ArgumentError
      messages.each { |message| handled << message.offset }
    end)
    kafka.deliver(0...10).work
    assert_equal [[*0...10], 10], [handled, kafka.committed]
  end

  def test_a_topic_that_begins_anew_is_consumed_from_there
    seen = []
    kafka = kafka(consumer { seen.concat(messages.map(&:offset)) })
    kafka.deliver(50...53).work
    kafka.deliver(0...3).work
    assert_equal [50, 51, 52, 0, 1, 2], seen
    assert_equal 3, kafka.committed
  end

  def test_a_consumer_that_ends_its_thread_has_failed
    [nil, proc { virtual_partitions partitioner: :offset.to_proc, max: 2 }].each do |route|
      calls = 0
      kafka = kafka(consumer { Thread.exit if (calls += 1) == 1 }, &route)
      kafka.deliver(0...3)
      Thread.new { kafka.work_now }.join until kafka.application.runners.jobs.empty?
      kafka.work
      assert_equal [Guildhall::TaskError, 3], [kafka.errors.first.class, kafka.committed]
    end
  end

  # A consumer whose `initialized` does something before the first batch.
  def beginning(seen, &work)
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:initialized) { instance_exec(&work) }
      define_method(:consume) { messages.each_marking { |message| seen << message.offset } }
    end
  end

  WAYS = {
    in_order: nil,
    virtual: proc { virtual_partitions partitioner: ->(message) { message.offset % 2 }, reducer: :itself.to_proc, max: 2 },
    keyed: proc {
      virtual_partitions partitioner: ->(message) { message.offset % 2 }, reducer: :itself.to_proc, max: 2
      ordering :key
    },
    filtered: proc { filter { |messages| messages } },
    at_most_once: proc { delivery :at_most_once },
    manual: proc { manual_offset_management true },
    dead_lettered: proc { dead_letter_queue topic: "dead", dispatch_undecodable: true }
  }.freeze

  WAYS.each do |name, route|
    [7, :latest, Time.at(7)].each do |target|
      define_method(:"test_a_seek_in_initialized_comes_before_the_first_batch_#{name}_#{target.class.name.downcase}") do
        seen = []
        sought = 0
        kafka = KafkaPartition.new(beginning(seen) { seek(target) if (sought += 1) == 1 }, &route)
        kafka.client.define_singleton_method(:resolve) { |*| 7 }
        kafka.deliver(0...5).work
        assert_equal [[], 7], [seen, kafka.client.sought]
        kafka.deliver(7...10).work
        assert_equal [[7, 8, 9], 10], [seen.sort, kafka.committed]
      end
    end

    define_method(:"test_a_pause_in_initialized_comes_before_the_first_batch_#{name}") do
      seen = []
      paused = 0
      kafka = KafkaPartition.new(beginning(seen) { pause if (paused += 1) == 1 }, &route)
      kafka.deliver(0...5).work
      assert_equal [[], true, false], [seen, kafka.partition.paused?, kafka.partition.working?]
      kafka.partition.resume
      kafka.work
      assert_equal [[0, 1, 2, 3, 4], 5], [seen.sort, kafka.committed]
    end
  end

  def test_a_consumer_that_is_made_to_try_a_parked_key_again_may_seek_or_pause_in_its_initialized
    {pause: -> { pause }, seek: -> { seek(7) }}.each do |name, work|
      seen = []
      made = 0
      failing = true
      consumer = Class.new(Guildhall::Kafka::Consumer) do
        define_method(:initialized) { instance_exec(&work) if (made += 1) == 2 }
        define_method(:consume) do
          messages.each_marking do |message|
            raise "no" if failing && message.offset.zero?

            seen << message.offset
          end
        end
      end
      kafka = KafkaPartition.new(consumer) { ordering :key }
      kafka.deliver([0]).work_now
      failing = false
      kafka.work
      assert_equal [[], 2], [seen, made], name
      next unless name == :pause

      kafka.partition.resume
      kafka.work
      assert_equal [0], seen
    end
  end

  def test_errors_say_which_messages
    kafka = kafka(consumer { messages.each { |message| raise "bad" if message.offset == 33 } })
    kafka.deliver(0...500).work(1)
    _, type, payload = kafka.application.errors.first
    assert_equal "consumer.consume", type
    assert_equal({group: "group", topic: "t", partition: 0, attempt: 1, offset: 33, first_offset: 0, last_offset: 499}, payload)
    assert_includes kafka.application.events.map(&:first), "consumer.retrying"
  end

  # What the consumer does, and the offset in the error where message 3 of 0..9 fails.
  AT_HAND = {
    each: [3, -> { messages.each { |message| handle(message) } }],
    map: [3, -> { messages.map { |message| handle(message) } }],
    wrapped: [3, lambda {
      messages.each do |message|
        handle(message)
      rescue RuntimeError
        raise ::ArgumentError, "wrapped"
      end
    }],
    one_by_one: [3, lambda {
      messages.size.times do |index|
        handle(messages[index])
        mark_as_consumed(messages[index])
      end
    }],
    bulk: [nil, -> { messages.payloads.each_with_index { |_, index| handle(messages[index]) } }],
    slices: [nil, -> { messages.each_slice(5) { |slice| slice.each { |message| handle(message) } } }],
    slices_of_one: [3, -> { messages.each_slice(1) { |slice| slice.each { |message| handle(message) } } }],
    rescued: [nil, lambda {
      begin
        messages.each { |message| handle(message) }
      rescue RuntimeError
        messages.payloads
      end
      raise "for another reason"
    }]
  }.freeze

  AT_HAND.each do |name, (offset, work)|
    define_method(:"test_the_offset_of_an_error_is_that_of_the_message_where_it_is_known_#{name}") do
      base = Class.new(Guildhall::Kafka::Consumer) do
        define_method(:handle) { |message| message.offset == 3 ? raise("bad") : true }
        define_method(:consume) { instance_exec(&work) }
      end
      kafka = KafkaPartition.new(base, pause_timeout: 60, pause_max_timeout: 60)
      kafka.deliver(0...10).work_now
      assert_equal [offset, 9], kafka.application.errors.first.last.values_at(:offset, :last_offset)
    end
  end

  def test_attempts_that_look_for_the_failing_message_say_so
    kafka = kafka(consumer { messages.map(&:payload) && (raise "bad" if messages.any? { |message| message.offset == 5 }) }) do
      dead_letter_queue topic: "dead", max_retries: 1
    end
    kafka.deliver(0...8)
    assert kafka.work
    isolating = kafka.application.errors.map { |_, _, payload| payload[:isolating] }
    assert_equal [nil, nil, true], isolating.first(3)
    assert_equal [5], kafka.dead
  end

  def test_reading_on_where_it_stands_voids_no_marks
    message = instance = nil
    kafka = kafka(consumer { (instance = self) && (message = messages.last) }) { manual_offset_management true }
    kafka.deliver(0...3).work
    kafka.partition.read_on(3)
    kafka.work
    assert_equal 3, kafka.client.sought
    assert instance.mark_as_consumed(message)
    assert_equal 3, kafka.committed
  end

  def test_a_seek_that_was_not_done_is_reported_at_the_end
    kafka = kafka(consumer { seek(1) if messages.first.offset.zero? }).deliver(0...3)
    kafka.run_next
    kafka.partition.leave(:revoked)
    kafka.work
    kafka.partition.close
    assert_equal ["seek", 1], [kafka.application.errors.last[1], kafka.application.errors.last[2][:to]]
    assert_equal [[0, nil]], kafka.client.stored
  end

  def test_events_reach_the_consumer_between_batches_and_at_the_end
    reported = []
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) { reported << :consume }
      %i[tick eofed revoked].each { |event| define_method(event) { reported << event } }
    end
    kafka = kafka(consumer).deliver(0...3)
    kafka.partition.notify(:tick)
    kafka.partition.notify(:tick)
    kafka.work
    kafka.partition.notify(:eofed)
    kafka.work
    kafka.partition.leave(:revoked)
    kafka.work
    assert_equal %i[tick consume eofed revoked], reported
    assert kafka.partition.wait(Guildhall::Clock.now)
  end

  def test_marks_in_virtual_partitions_cost_the_same_in_big_batches
    marking = consumer { messages.each { |message| mark_as_consumed(message) } }
    objects = [500, 5_000].map do |max_messages|
      kafka = kafka(marking, max_messages:) { virtual_partitions partitioner: :offset.to_proc, max: 4 }
      before = GC.stat(:total_allocated_objects)
      kafka.deliver(0...5_000).work
      assert_equal 5_000, kafka.committed
      GC.stat(:total_allocated_objects) - before
    end
    assert_operator objects.last, :<, 1.3 * objects.first
  end
end
