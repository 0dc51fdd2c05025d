# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaScheduleTest < GuildhallTest
  # As much of a batch as counts.
  Batch = Struct.new(:records, :bytes)

  # Notes what may be taken.
  class Queue
    attr_reader :allowed, :closed

    def allow(messages, _bytes) = @allowed = messages
    def close = @closed = true
  end

  def setup
    config = Guildhall::Kafka::Config.new
    config.max_messages = 10
    @queue = Queue.new
    @backpressure = Guildhall::Kafka::Runtime::Backpressure.new(config, [])
    backlog = Guildhall::Kafka::Partition::Backlog.new(@backpressure, Struct.new(:max_messages, :max_bytes).new, config)
    backlog.queue = @queue
    @pushed = []
    @timer = KafkaPartition.timer
    @schedule = Guildhall::Kafka::Partition::Schedule.new(backlog, @timer) { |urgent| @pushed << urgent }
  end

  def batch = Batch.new([1, 2], 20)

  def test_hands_out_one_job_at_a_time
    first = batch
    second = batch
    @schedule.push(first)
    @schedule.push(second)
    assert_equal [false], @pushed, "it is announced once"
    assert_equal [:consume, first], @schedule.next_job
    assert_predicate @schedule, :working?
    @schedule.finish(first)
    @schedule.release
    assert_equal [[false, false], [:consume, second]], [@pushed, @schedule.next_job]
  end

  def test_since_when_it_has_work
    assert_nil @schedule.busy_since
    @schedule.push(one = batch)
    since = @schedule.busy_since
    assert_in_delta Guildhall::Clock.now, since, 30
    @schedule.next_job
    assert_equal since, @schedule.busy_since, "it waits for a runner, or works: nothing has been done"
    @schedule.release
    assert_operator since, :<, @schedule.busy_since, "the next job"
    @schedule.next_job
    @schedule.finish(one)
    @schedule.release
    assert_nil @schedule.busy_since
  end

  def test_a_batch_that_is_not_finished_comes_again
    @schedule.push(one = batch)
    2.times do
      assert_equal [:consume, one], @schedule.next_job
      @schedule.release
    end
  end

  def test_events_come_first_and_once
    @schedule.push(batch)
    2.times { @schedule.notify(:tick) }
    assert_equal %i[event tick], @schedule.next_job
    @schedule.release
    assert_equal :consume, @schedule.next_job.first
  end

  def test_works_while_a_runner_has_any_job
    jobs = [-> { @schedule.push(batch) }, -> { @schedule.notify(:tick) }, -> { @schedule.leave(:shutdown) }]
    jobs.each do |job|
      job.call
      refute_predicate @schedule, :working?, "nobody has taken it yet"
      @schedule.next_job
      assert_predicate @schedule, :working?
      @schedule.release
    end
  end

  def test_takes_nothing_while_it_rests_or_has_enough
    @schedule.update
    assert_equal 10, @queue.allowed
    3.times { @schedule.push(batch) }
    assert_equal 0, @queue.allowed
    @schedule.next_job
    @schedule.finish(@schedule.next_job.last)
    assert_equal 10, @queue.allowed
    @schedule.pause(:user)
    assert_equal 0, @queue.allowed
    @schedule.resume(:user)
    assert_equal 10, @queue.allowed
  end

  def test_does_nothing_while_it_rests
    @schedule.pause(:quiet)
    @schedule.push(batch)
    assert_empty @pushed
    assert_nil @schedule.next_job
    assert_equal 0, @backpressure.messages, "what waits there holds up nobody"
    @schedule.notify(:tick)
    assert_equal %i[event tick], @schedule.next_job
    @schedule.release
    @schedule.resume(:quiet)
    assert_equal [2, :consume], [@backpressure.messages, @schedule.next_job.first]
  end

  def test_a_back_off_ends_by_itself
    @schedule.push(batch)
    @schedule.next_job
    @schedule.pause(:backoff, 0.001)
    @schedule.release
    assert_equal 1, @pushed.size
    @timer.pass
    assert_equal 2, @pushed.size
  end

  def test_a_seek_voids_what_waits
    @schedule.push(batch)
    yielded = false
    @schedule.seek { yielded = true }
    assert_equal [true, true, nil, 0], [yielded, !@schedule.takes?, @schedule.next_job, @queue.allowed]
    @schedule.release
    @schedule.push(batch)
    assert_nil @schedule.records, "nothing is taken on meanwhile"
    @schedule.sought { false }
    refute_predicate @schedule, :takes?, "there was another seek"
    @schedule.sought { true }
    @schedule.push(batch)
    assert_equal [1, 2], @schedule.records
  end

  def test_the_end_is_urgent_and_the_last_job
    @schedule.push(one = batch)
    assert_equal [:consume, one], @schedule.next_job
    @schedule.pause(:user)
    @schedule.leave(:revoked)
    assert_equal [0, false], [@queue.allowed, @schedule.wait_left(Guildhall::Clock.now)]
    @schedule.release
    assert_equal [true, %i[leave revoked]], [@pushed.last, @schedule.next_job]
    @schedule.left
    @schedule.release
    assert_equal [2, nil, true], [@pushed.size, @schedule.next_job, @schedule.wait_left(Guildhall::Clock.now)]
    @schedule.notify(:tick)
    @schedule.push(batch)
    assert_nil @schedule.next_job
  end

  def test_knows_whether_it_is_idle
    assert_predicate @schedule, :idle?
    @schedule.pause(:user)
    refute_predicate @schedule, :idle?
    @schedule.resume(:user)
    @schedule.push(batch)
    refute_predicate @schedule, :idle?
  end

  def test_says_what_it_does
    assert_equal "waiting, 0 batches", @schedule.to_s
    @schedule.pause(:user)
    assert_equal "paused, 0 batches", @schedule.to_s
    @schedule.leave(:shutdown)
    assert_equal "shutdown, 0 batches", @schedule.to_s
  end

  def test_parked_keys_are_tried_beside_the_batches_by_one_runner
    aside = 0
    @schedule.on_aside = -> { aside += 1 }
    2.times { @schedule.call_aside }
    assert_equal 1, aside
    @schedule.push(one = batch)
    assert_equal [:consume, one], @schedule.next_job
    @schedule.aside_ended(again: false)
    assert_equal 2, aside, "it was called again meanwhile"
    @schedule.aside_ended(again: true)
    assert_equal 3, aside
    @schedule.pause(:keys)
    @schedule.aside_ended(again: true)
    assert_equal 4, aside, "the partition rests for them"
  end

  def test_parked_keys_wait_for_the_users_pause
    aside = 0
    @schedule.on_aside = -> { aside += 1 }
    @schedule.pause(:user)
    @schedule.call_aside
    assert_equal 0, aside
    @schedule.resume(:user)
    assert_equal 1, aside
  end

  def test_the_end_waits_for_parked_keys_that_are_being_tried
    @schedule.on_aside = -> {}
    @schedule.call_aside
    assert_predicate @schedule, :working?
    assert_in_delta Guildhall::Clock.now, @schedule.busy_since, 30
    @schedule.leave(:revoked)
    assert_nil @schedule.next_job
    @schedule.aside_ended(again: true)
    assert_equal %i[leave revoked], @schedule.next_job
  end

  def test_a_seek_ends_the_rest_for_parked_keys
    @schedule.pause(:keys)
    @schedule.seek { nil }
    @schedule.sought { true }
    refute_predicate @schedule, :paused?
  end
end
