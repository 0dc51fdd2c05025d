# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaVirtualPartitionsTest < GuildhallTest
  # By offset modulo 2.
  def kafka(consumer, **options, &settings)
    KafkaPartition.new(consumer, **options) do
      virtual_partitions partitioner: ->(message) { message.offset % 2 }, reducer: :itself.to_proc, max: 2
      instance_eval(&settings) if settings
    end
  end

  def consumer(&block)
    Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { instance_exec(&block) } }
  end

  def test_shares_are_jobs_of_their_own_with_consumers_of_their_own
    seen = Hash.new { |hash, key| hash[key] = [] }
    kafka = kafka(consumer { seen[self].concat(messages.map(&:offset)) }).deliver(0...6)
    kafka.run_next
    assert_equal 2, kafka.application.runners.jobs.size
    kafka.run_next
    assert_equal 1, kafka.committed
    kafka.run_next
    assert_equal [[0, 2, 4], [1, 3, 5]], seen.values.sort
    assert_equal 6, kafka.committed
    kafka.deliver(6...8).work
    assert_equal 2, seen.size
  end

  def test_the_next_batch_waits_for_all_shares
    kafka = kafka(consumer { messages.size }).deliver(0...4).deliver(4...8)
    kafka.run_next
    kafka.run_next
    assert_equal 1, kafka.application.runners.jobs.size
    kafka.work
    assert_equal 8, kafka.committed
  end

  def test_what_no_share_has_finished_is_consumed_in_order_after_an_error
    calls = []
    kafka = kafka(consumer do
      calls << [collapsed?, messages.map(&:offset)]
      raise "once" if messages.first.offset == 1 && !collapsed?
    end).deliver(0...6)
    kafka.work
    assert_equal [[false, [0, 2, 4]], [false, [1, 3, 5]], [true, [1, 3, 5]]], calls
    refute_predicate kafka.partition, :collapsed?
    consumed = kafka.application.events.filter_map { |name, event| event if name == "consumer.consumed" }
    assert_equal [[3, 0, 0], [3, 6, 0]], consumed.map { |event| event.values_at(:size, :bytes, :dropped) } # what consume has returned for, and the batch once
    kafka.deliver(6...8).work
    assert_equal [[false, [6]], [false, [7]]], calls.last(2)
  end

  # What is read after it is another beginning.
  def test_a_seek_ends_the_consumption_in_order
    kafka = nil
    kafka = kafka(consumer do
      kafka.partition.seek(0) if collapsed?
      raise "no"
    end).deliver(0...6)
    kafka.run_next until kafka.partition.collapsed?
    kafka.application.timer.pass
    kafka.run_next while kafka.partition.collapsed?
    assert_equal [true, 1], [kafka.partition.sought?, kafka.partition.attempt]
  end

  def test_a_message_that_was_alone_has_its_retries_and_no_more
    {"first of all" => 0...1, "behind others" => 0...3}.each do |place, offsets|
      calls = []
      kafka = kafka(consumer do
        messages.each do |message|
          calls << [message.offset, attempt]
          raise "always" if message.offset == offsets.max

          mark_as_consumed(message)
        end
      end, pause_timeout: 0.001, pause_max_timeout: 0.001) { dead_letter_queue topic: "dead", max_retries: 2 }
      offsets.each { |offset| kafka.deliver(offset..offset).work }
      assert_equal [1, 2, 3], calls.filter_map { |offset, attempt| attempt if offset == offsets.max }, place
      assert_equal [[offsets.max], "3"], [kafka.dead, kafka.application.dead_letters.first[:headers]["source_attempts"]], place
    end
  end

  def test_a_mark_is_for_one_share
    kafka = kafka(consumer do
      next if messages.first.offset == 1

      mark_as_consumed(messages[1])
      redeliver_unmarked
    end) { manual_offset_management true }
    kafka.deliver(0...6).work(3)
    kafka.partition.store
    offset, metadata = kafka.client.stored.last
    assert_equal [1, [2...3]], [offset, Guildhall::Kafka::Partition::DoneRanges.load(offset, metadata)]
  end

  def test_a_consumer_that_cannot_be_made_starts_nothing
    broken = 1
    consumer = consumer { messages.size }
    consumer.define_method(:initialized) { raise "no" if (broken -= 1) >= 0 }
    kafka = kafka(consumer).deliver(0...4)
    kafka.work
    assert_equal [1, 4], [kafka.errors.size, kafka.committed]
  end
end
