# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# What becomes of batches whose route has filters; without a broker.
class KafkaFilterRunnerTest < GuildhallTest
  # Makes messages wait from an offset on, the first times that it sees them.
  class Holding
    def initialize(from: 0, times: 1, seconds: 0.001)
      @from = from
      @times = times
      @seconds = seconds
    end

    def call(messages)
      message = messages.find { |one| one.offset >= @from } or return
      messages.postpone(message, @seconds) if (@times -= 1) >= 0
    end
  end

  def consumer(seen = @seen = [], &block)
    Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        seen << messages.map(&:offset)
        instance_exec(&block) if block
      end
    end
  end

  def failing(times) = consumer { raise "bad" if (times -= 1) >= 0 }

  def kafka(consumer = self.consumer, **settings, &) = KafkaPartition.new(consumer, **settings, &)

  def events(kafka, name) = kafka.application.events.filter_map { |event, payload| payload if event == name }

  def test_offsets_pass_what_was_rejected
    kafka = kafka { filter { |messages| messages.reject! { |message| message.offset >= 2 } } }
    kafka.deliver(0...5).work
    kafka.deliver(5...8).work
    assert_equal [[[0, 1]], 8], [@seen, kafka.committed]
    assert_equal [3, 3], events(kafka, "filter.rejected").map { |payload| payload[:count] }
    assert_equal [{group: "group", topic: "t", partition: 0, read: 3, dropped: 3, bytes: 3}], events(kafka, "consumer.skipped")
  end

  def test_with_manual_marks_what_was_rejected_behind_one_is_stored_with_it
    kafka = kafka(consumer { mark_as_consumed(messages.first) }) do
      manual_offset_management true
      filter { |messages| messages.reject! { |message| message.offset.between?(1, 3) } }
    end
    kafka.deliver(0...6).work
    assert_equal [[[0, 4, 5]], 4], [@seen, kafka.committed]
  end

  def test_what_waits_is_consumed_later_and_nothing_before_it_waits
    kafka = kafka { filter Holding, from: 3, seconds: 60 }
    kafka.deliver(0...5).work_now
    assert_equal [[[0, 1, 2]], 3, true], [@seen, kafka.committed, kafka.partition.paused?]
    assert_equal [3], events(kafka, "filter.waiting").map { |payload| payload[:offset] }
    kafka = kafka { filter Holding, from: 3 }
    assert kafka.deliver(0...5).work
    assert_equal [[[0, 1, 2], [3, 4]], 5], [@seen, kafka.committed]
  end

  def test_a_seek_beside_the_filters_ends_what_they_make_wait
    kafka = nil
    kafka = kafka do
      filter do |messages|
        kafka.partition.seek(7) # as another thread may
        messages.postpone(messages.first, 60)
      end
    end
    kafka.deliver(0...5).work_now
    refute_predicate kafka.partition, :paused?
  end

  def test_a_batch_that_waits_as_a_whole
    kafka = kafka { filter Holding, seconds: 60 }
    kafka.deliver(0...5).deliver(5...7).work_now
    assert_equal [[], nil], [@seen, kafka.committed]
    assert_equal 0, kafka.application.backpressure.messages, "a batch that waits must not hold up others"
    kafka = kafka { filter Holding, times: 3 }
    assert kafka.deliver(0...5).deliver(5...7).work
    assert_equal [[[*0...5], [5, 6]], 7], [@seen, kafka.committed]
    assert_equal 0, kafka.application.backpressure.messages
  end

  def test_what_was_rejected_before_what_waits_is_passed_at_once
    kafka = kafka do
      filter { |messages| messages.reject! { |message| message.offset < 2 } }
      filter Holding, from: 2, seconds: 60
    end
    kafka.deliver(0...4).work_now
    assert_equal [[], 2], [@seen, kafka.committed]
  end

  def test_filters_are_called_once_for_a_batch_that_is_retried
    calls = 0
    kafka = kafka(failing(2)) { filter { |messages| (calls += 1) && messages.reject! { |one| one.offset == 1 } } }
    kafka.deliver(0...3).work
    assert_equal [1, [[0, 2]] * 3, 3], [calls, @seen, kafka.committed]
  end

  def test_a_batch_that_fails_is_retried_at_once_although_the_rest_waits
    kafka = kafka(failing(2), pause_timeout: 0.0001, pause_max_timeout: 0.0001) { filter Holding, from: 2, seconds: 60 }
    kafka.deliver(0...4)
    kafka.run_next || kafka.application.timer.pass until @seen.size == 3
    assert_equal [[[0, 1]] * 3, 2], [@seen, kafka.committed]
  end

  def test_a_filter_that_raises_is_called_again_after_a_pause
    calls = 0
    kafka = kafka { filter { |_messages| raise "no" if (calls += 1) < 3 } }
    kafka.deliver(0...3).work
    assert_equal [3, [[0, 1, 2]], 3], [calls, @seen, kafka.committed]
    assert_equal [["filter", {group: "group", topic: "t", partition: 0, offset: 0}]] * 2, kafka.application.errors.map { |one| one.drop(1) }
    assert_empty events(kafka, "consumer.retrying"), "it is no attempt of the consumer"
  end

  def test_a_filter_that_cannot_be_made_is_reported
    made = 0
    failing = Class.new do
      define_method(:initialize) { raise "no Redis" if (made += 1) == 1 }
      def call(_messages) = nil
    end
    kafka = kafka { filter failing }
    kafka.deliver(0...3).work
    assert_equal [["no Redis"], [[0, 1, 2]]], [kafka.errors.map(&:message), @seen]
  end

  def test_a_duplicate_that_was_seen_before_another_filter_raised_is_not_lost
    failures = 1
    kafka = kafka do
      deduplicate by: ->(message) { message.raw_payload }
      filter { |_messages| raise "no" if (failures -= 1) >= 0 }
    end
    kafka.deliver(0...4) { |offset| (offset % 2).to_s }.work
    assert_equal [[[0, 1]], 4], [@seen, kafka.committed]
  end

  def test_each_partition_has_filters_of_its_own
    made = []
    own = Class.new do
      define_method(:initialize) { |limit:| made << limit }
      def call(_messages) = nil
    end
    2.times { kafka { filter own, limit: 3 }.deliver(0...2).work }
    assert_equal [3, 3], made
  end

  def test_a_seek_ends_the_wait
    kafka = kafka { filter Holding, from: 2, seconds: 60 }
    kafka.deliver(0...4).work_now
    assert_predicate kafka.partition, :paused?
    kafka.partition.seek(0)
    kafka.work_now
    refute_predicate kafka.partition, :paused?
    kafka.deliver(0...4).work
    assert_equal [[0, 1], [*0...4]], @seen
    assert_equal 4, kafka.committed
  end

  def test_a_users_pause_outlasts_the_wait
    kafka = kafka(consumer { pause if messages.first.offset.zero? }) { filter Holding, from: 2 }
    kafka.deliver(0...4)
    assert kafka.work
    assert_equal [[[0, 1]], true], [@seen, kafka.partition.paused?]
    kafka.partition.resume
    kafka.work
    assert_equal [[0, 1], [2, 3]], @seen
  end

  def test_the_end_does_not_wait_and_commits_what_was_done
    kafka = kafka { filter Holding, from: 2, seconds: 60 }
    kafka.deliver(0...4).work_now
    kafka.partition.leave(:revoked)
    kafka.work
    kafka.partition.close
    assert kafka.partition.wait(Guildhall::Clock.now)
    assert_equal [2, nil], kafka.client.stored.last
  end

  def test_dead_letters_and_virtual_partitions_see_what_is_left
    kafka = kafka(consumer { raise "bad" if messages.any? { |message| message.offset == 4 } }) do
      dead_letter_queue topic: "dead", max_retries: 0
      filter { |messages| messages.select! { |message| message.offset.even? } }
    end
    kafka.deliver(0...8).work
    assert_equal [[4], 8], [kafka.dead, kafka.committed]
    virtual = kafka do
      virtual_partitions partitioner: :offset.to_proc, max: 2
      filter Holding, from: 5
    end
    virtual.deliver(0...8).work
    assert_equal [[*0...8], 8], [@seen.flatten.sort, virtual.committed]
  end

  def test_at_most_once_commits_only_what_is_consumed_now
    kafka = kafka do
      delivery :at_most_once
      filter Holding, from: 3, seconds: 60
    end
    kafka.deliver(0...6).work_now
    assert_equal [[[0, 1, 2]], 3], [@seen, kafka.committed]
  end

  # A filter that counts (a throttle) would count them twice.
  def test_messages_that_wait_for_an_outage_are_not_filtered_again
    filtered = []
    outages = 2
    kafka = kafka do
      deserializer ->(bytes) { bytes == "2" && (outages -= 1) >= 0 ? raise(Errno::ECONNREFUSED) : bytes }
      dead_letter_queue topic: "dead", dispatch_undecodable: true
      filter { |messages| filtered.concat(messages.map(&:offset)) }
    end
    kafka.deliver(0...4).work
    assert_equal [[0, 1, 2, 3], [[0, 1], [2, 3]], 4], [filtered, @seen, kafka.committed]
  end

  def test_payloads_follow_a_batch_that_is_split
    payloads = []
    kafka = kafka(consumer { payloads.concat(messages.payloads) }) do
      deserializer Guildhall::JSON
      filter Holding, from: 1, times: 4
    end
    kafka.deliver(0...4) { |offset| "[#{offset}]" }.work
    assert_equal [[0], [1], [2], [3]], payloads
  end

  def test_a_partition_that_waits_counts_as_paused
    kafka = kafka { filter Holding, from: 2, seconds: 60 }
    kafka.client.define_singleton_method(:end_offset) { |*| 10 }
    kafka.deliver(0...4).work_now
    assert_equal({topic: "t", partition: 0, messages: 8, paused: true, blocked: nil}, kafka.partition.measure_lag.except(:seconds))
    refute_predicate kafka.partition, :idle_behind?
  end
end
