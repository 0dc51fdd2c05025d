# frozen_string_literal: true

require "json"
require "tmpdir"
require "test_helper"
require "support/kafka_partition"

class KafkaSnapshotTest < GuildhallTest
  class Fails < Guildhall::Kafka::Consumer
    def consume = messages.each_marking { |message| raise self.class::ERROR, "no #{message.offset}" if message.offset == 2 }
  end

  def kafka(error, **settings, &route)
    KafkaPartition.new(Class.new(Fails) { const_set(:ERROR, error) }, pause_timeout: 60, pause_max_timeout: 60, **settings, &route)
  end

  def test_nothing_was_read_yet
    snapshot = kafka(KeyError).partition.snapshot
    assert_equal ["group", "t", 0, :waiting, {}, 1, nil, nil, 0, :none],
      [snapshot.group, snapshot.topic, snapshot.partition, snapshot.state, snapshot.rests, snapshot.attempt, snapshot.error, snapshot.position,
       snapshot.in_memory, snapshot.decoded_by]
    assert Ractor.shareable?(snapshot)
  end

  def test_why_it_rests_and_until_when
    kafka = kafka(KeyError) { dead_letter_queue topic: "dead", max_retries: 3 }
    kafka.deliver(0...5, time: Time.now - 100).work_now
    snapshot = kafka.partition.snapshot
    assert_equal [:backoff, 2, 2, 2, 5], [snapshot.state, snapshot.attempt, snapshot.position, snapshot.committed, snapshot.in_memory]
    rest = snapshot.rests.fetch(:backoff)
    assert_in_delta 60, rest.since + rest.left, 13 # with jitter
    error = snapshot.error
    assert_equal ["KeyError", :counted, 1, 2, true], [error.error_class, error.kind, error.failures, error.offset, error.now]
    assert_match(%r{\Atest/guildhall/kafka/partition/snapshot_test\.rb:\d+:in }, error.place)
    assert_in_delta 100, snapshot.age, 10, "of the oldest message in memory, although the end is not known"
    assert_nil snapshot.lag
    assert Ractor.shareable?(snapshot)
    assert_match(%r{\A#<Guildhall::Kafka::Partition t/0 backing off; 5 messages in memory; first not done: 2; attempt 2; KeyError: .*, 1 attempt failed; next attempt in [\dms]+ ?s?, from offset 2>\z},
      kafka.partition.inspect)
  end

  def test_an_outage_is_told_from_what_counts
    kafka = kafka(IOError)
    kafka.deliver(0...5).work_now
    assert_equal [:outage, 1, 1], [kafka.partition.snapshot.error.kind, kafka.partition.snapshot.attempt, kafka.partition.snapshot.error.failures]
    assert_match(/counts as an outage: the message is retried until it succeeds, and does not become a dead letter/, kafka.partition.inspect)
  end

  # The message alone may quote the payload.
  def test_messages_of_errors_are_those_that_may_be_logged
    assert_equal ["no 2", "no 2"], [{}, {messages: true}].map { |shown| failed(RuntimeError, shown) }
    assert_equal ["key not found", "key not found: 2"], [{}, {messages: true}].map { |shown| failed(nil, shown) }
  end

  def test_what_was_dead_lettered_is_no_error_of_now
    kafka = KafkaPartition.new(Class.new(Fails) { const_set(:ERROR, KeyError) }) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...5)
    assert kafka.work
    error = kafka.partition.snapshot.error
    assert_equal [["KeyError", false], :waiting, 5], [[error.error_class, error.now], kafka.partition.snapshot.state, kafka.partition.snapshot.position]
    refute_includes kafka.partition.inspect, "KeyError"
  end

  # Deployments keep some releases, and the process of an older one may still work.
  def test_a_process_whose_folder_was_deleted_says_where_an_error_came_from_and_gives_its_message_up
    kafka = KafkaPartition.new(Class.new(Fails) { const_set(:ERROR, KeyError) }) { dead_letter_queue topic: "dead", max_retries: 1 }
    before = Dir.pwd
    Dir.mktmpdir { |folder| Dir.chdir(folder) } # without a block: else Ruby would go back there
    kafka.deliver(0...5)
    assert kafka.work
    assert_equal [[2], 5], [kafka.application.dead_letters.map { |letter| letter[:payload].to_i }, kafka.partition.snapshot.position]
    assert_match(%r{\A/.*/test/guildhall/kafka/partition/snapshot_test\.rb:\d+:in }, kafka.partition.snapshot.error.place)
  ensure
    Dir.chdir(before)
  end

  def test_reasons_that_hold_together
    kafka = kafka(KeyError)
    kafka.deliver(0...5).work_now
    kafka.partition.pause(nil)
    kafka.application.quiet = true
    kafka.partition.follow_quiet
    snapshot = kafka.partition.snapshot
    assert_equal [:backoff, %i[backoff user quiet]], [snapshot.state, snapshot.rests.keys]
    assert_nil snapshot.rests[:user].left
    assert_match(/KeyError.*; by its consumer, until that is ended; the application is quiet: the signal CONT ends that/, kafka.partition.inspect)
  end

  def test_parked_keys_by_name
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = raise(KeyError, "x") }
    kafka = KafkaPartition.new(consumer, pause_timeout: 60, pause_max_timeout: 60) { ordering :key }
    kafka.deliver(0...12, time: Time.now - 50).work_now
    kafka.deliver(12...13).work_now
    snapshot = kafka.partition.snapshot
    parked = snapshot.parked
    assert_equal [13, 13, false, (0...10).map { |offset| "k#{offset}" }], [parked.keys, parked.messages, parked.full, parked.oldest.map(&:key)]
    first = parked.oldest.first
    assert_equal [0, 1, 2, "KeyError"], [first.offset, first.messages, first.attempt, first.error.error_class]
    assert_in_delta 50, first.age, 10
    assert_in_delta 60, first.left, 13
    assert_match(/13 keys with 13 messages are parked, other keys go on: k0 \(offset 0, next attempt in [\dms]+ ?s?.*\), and 10 more(; KeyError: .*)?\z/, kafka.partition.snapshot.to_s)
  end

  # Nothing moves while all runners are busy with other partitions.
  def test_what_waits_for_a_runner_is_not_at_work
    states = []
    kafka = nil
    kafka = KafkaPartition.new(Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { states << kafka.partition.snapshot.state } })
    kafka.deliver(0...2)
    assert_equal :queued, kafka.partition.snapshot.state
    kafka.work_now
    assert_equal [[:working], :waiting], [states, kafka.partition.snapshot.state]
  end

  # Where in the code, once that takes long; the frames of all are too much for each report.
  def test_where_a_consumer_hangs
    inside, let_go = Array.new(2) { Thread::Queue.new }
    consumer = Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { inside << let_go.pop } }
    kafka = KafkaPartition.new(consumer, max_consume_time: 30)
    kafka.deliver(0...2)
    runner = Thread.new { kafka.work_now }
    eventually { let_go.num_waiting == 1 }
    partition = kafka.partition
    assert_equal [nil, false], partition.snapshot.then { |snapshot| [snapshot.working_at, snapshot.overdue] }
    partition.define_singleton_method(:seconds_without_progress) { 31.0 }
    assert_match(%r{\Atest/guildhall/kafka/partition/snapshot_test.rb:\d+\z}, partition.snapshot.working_at)
    assert partition.snapshot.overdue
    assert_match(/its consumer has not finished a message for 31 s, at offset 0; it is at test.*snapshot_test.rb:\d+ now/, partition.snapshot.to_s)
    let_go << 1
    runner.join
    assert_nil partition.snapshot.working_at
  end

  def test_ranges_that_are_done
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume = messages.each { |message| raise("no") if message.offset == 1 } }
    kafka = KafkaPartition.new(consumer, pause_timeout: 60, pause_max_timeout: 60) { ordering :key }
    kafka.deliver(0...5).work_now
    snapshot = kafka.partition.snapshot
    assert_equal [1, 1, [2...5]], [snapshot.position, snapshot.committed, snapshot.ranges]
    assert_equal [[[2, 4]], 3], snapshot.data.values_at("ranges", "done_behind")
  end

  def test_stalled_until_it_moves
    kafka = kafka(KeyError)
    kafka.deliver(0...2)
    kafka.partition.stalls(2, :seek)
    kafka.partition.stalls(2, :rejoin)
    snapshot = kafka.partition.snapshot
    assert_equal [:stalled, 2, %i[seek rejoin]], [snapshot.state, snapshot.stalled.position, snapshot.stalled.tried]
    assert_match(/stalled; .*no message has come from offset 2 on for 0(\.\d)? s, although there are more; it has tried a seek and rejoining the group/, snapshot.to_s)
    kafka.deliver(2...3)
    assert_nil kafka.partition.snapshot.stalled
  end

  def test_as_json
    kafka = kafka(KeyError)
    kafka.deliver(0...5).work_now
    data = kafka.partition.snapshot.data
    assert_equal data.keys, JSON.parse(JSON.generate(data)).keys
    assert_equal [0, "backoff", "counted", true], [data["partition"], data["state"], data["error"]["kind"], data.key?("rests")]
    assert_empty(data.select { |_, value| value.nil? })
  end

  private

  def failed(error, shown)
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) { messages.each_marking { |message| (error ? raise(error, "no 2") : {}.fetch(2)) if message.offset == 2 } }
    end
    kafka = KafkaPartition.new(consumer, pause_timeout: 60, pause_max_timeout: 60, error_reports: shown)
    kafka.deliver(0...5).work_now
    kafka.partition.snapshot.error.message
  end
end
