# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaConsumerPeriodicTest < GuildhallTest
  def consumer(superclass = Guildhall::Kafka::Consumer, &) = Class.new(superclass) { def consume = nil }.tap { |made| made.class_eval(&) }

  def test_a_block_runs_in_the_consumer_without_messages
    seen = []
    kafka = KafkaPartition.new(consumer { every(60) { seen << [partition, self.class] } })
    kafka.partition.notify([:periodic, 0])
    kafka.work_now
    assert_equal [[0, kafka.partition.topic.consumer]], seen
  end

  def test_one_that_is_due_again_while_it_waits_runs_once
    seen = []
    kafka = KafkaPartition.new(consumer do
      every(1) { seen << 1 }
      every(2) { seen << 2 }
    end)
    [0, 1, 0, 1].each { |index| kafka.partition.notify([:periodic, index]) }
    kafka.work_now
    assert_equal [1, 2], seen
  end

  def test_what_it_raises_is_reported_and_the_next_time_comes
    calls = 0
    kafka = KafkaPartition.new(consumer { every(1) { raise "no" if (calls += 1) == 1 } })
    2.times do
      kafka.partition.notify([:periodic, 0])
      kafka.work_now
    end
    assert_equal [2, [["consumer.periodic", {group: "group", topic: "t", partition: 0}]]], [calls, kafka.application.errors.map { |one| one.drop(1) }]
  end

  def test_a_subclass_has_those_of_its_superclass_and_adds_none_to_it
    base = consumer { every(1) { nil } }
    derived = consumer(base) { every(2) { nil } }
    assert_equal [[1], [1, 2], []], [base, derived, Guildhall::Kafka::Consumer].map { |one| one.periods.map(&:seconds) }
  end

  def test_a_class_that_was_reloaded_may_have_fewer
    kafka = KafkaPartition.new(consumer { every(1) { raise "gone" } })
    reloaded = consumer { nil }
    kafka.application.define_singleton_method(:consumer_class) { |_| reloaded }
    kafka.partition.notify([:periodic, 0])
    kafka.work_now
    assert_empty kafka.errors
  end

  def test_what_makes_no_sense_is_refused_at_once
    error = assert_raises(Guildhall::ArgumentError) { consumer { every(0) { nil } } }
    assert_includes error.message, "every: seconds must be a finite number > 0 (seconds), not 0"
    assert_includes assert_raises(Guildhall::ArgumentError) { consumer { every(1) } }.message, "every: block must be a block, not nil"
  end
end
