# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaInboxTest < GuildhallTest
  # As much of a batch as counts.
  Batch = Struct.new(:records, :bytes)

  # Notes what may be taken.
  class Queue
    attr_reader :allowed, :closed

    def allow(messages, _bytes) = @allowed = messages
    def close = @closed = true
  end

  # Notes what it is given, and what is to be hurried.
  class Runners
    attr_reader :pushed, :hurried

    def initialize
      @pushed = []
      @hurried = []
    end

    def push(job, urgent: false) = @pushed << [job, urgent]
    def hurry(job) = @hurried << job
  end

  def setup
    config = Guildhall::Kafka::Config.new
    config.max_messages = 10
    @queue = Queue.new
    @backpressure = Guildhall::Kafka::Runtime::Backpressure.new(config, [])
    backlog = Guildhall::Kafka::Partition::Backlog.new(@backpressure, Struct.new(:max_messages, :max_bytes).new, config)
    backlog.queue = @queue
    @runners = Runners.new
    @timer = KafkaPartition.timer
    @inbox = Guildhall::Kafka::Partition::Inbox.new(backlog, @timer, @runners, :job)
    @inbox.key_retries = :retries
  end

  def batch = Batch.new([1, 2], 20)

  # @return [Array<Boolean>] whether each was urgent
  def pushed = @runners.pushed.select { |job,| job == :job }.map(&:last)

  def retries = @runners.pushed.count([:retries, false])

  def test_hands_out_one_job_at_a_time
    first = batch
    second = batch
    @inbox.push(first)
    @inbox.push(second)
    assert_equal [false], pushed, "it is announced once"
    assert_equal [:consume, first], @inbox.next_job
    assert_predicate @inbox, :working?
    @inbox.finish(first)
    @inbox.release
    assert_equal [[false, false], [:consume, second]], [pushed, @inbox.next_job]
  end

  def test_since_when_it_has_work
    assert_nil @inbox.busy_since
    @inbox.push(one = batch)
    since = @inbox.busy_since
    assert_in_delta Guildhall::Clock.now, since, 30
    @inbox.next_job
    assert_equal since, @inbox.busy_since, "it waits for a runner, or works: nothing has been done"
    @inbox.release
    assert_operator since, :<, @inbox.busy_since, "the next job"
    @inbox.next_job
    @inbox.finish(one)
    @inbox.release
    assert_nil @inbox.busy_since
  end

  def test_a_batch_that_is_not_finished_comes_again
    @inbox.push(one = batch)
    2.times do
      assert_equal [:consume, one], @inbox.next_job
      @inbox.release
    end
  end

  def test_events_come_first_and_once
    @inbox.push(batch)
    2.times { @inbox.notify(:tick) }
    assert_equal %i[event tick], @inbox.next_job
    @inbox.release
    assert_equal :consume, @inbox.next_job.first
  end

  def test_works_while_a_runner_has_any_job
    jobs = [-> { @inbox.push(batch) }, -> { @inbox.notify(:tick) }, -> { @inbox.leave(:shutdown) }]
    jobs.each do |job|
      job.call
      refute_predicate @inbox, :working?, "nobody has taken it yet"
      @inbox.next_job
      assert_predicate @inbox, :working?
      @inbox.release
    end
  end

  def test_takes_nothing_while_it_rests_or_has_enough
    @inbox.release
    assert_equal 10, @queue.allowed
    3.times { @inbox.push(batch) }
    assert_equal 0, @queue.allowed
    @inbox.next_job
    @inbox.finish(@inbox.next_job.last)
    assert_equal 10, @queue.allowed
    @inbox.pause(:user)
    assert_equal 0, @queue.allowed
    @inbox.resume(:user)
    assert_equal 10, @queue.allowed
  end

  def test_does_nothing_while_it_rests
    @inbox.pause(:quiet)
    @inbox.push(batch)
    assert_empty pushed
    assert_nil @inbox.next_job
    assert_equal 0, @backpressure.messages, "what waits there holds up nobody"
    @inbox.notify(:tick)
    assert_equal %i[event tick], @inbox.next_job
    @inbox.release
    @inbox.resume(:quiet)
    assert_equal [2, :consume], [@backpressure.messages, @inbox.next_job.first]
  end

  def test_a_back_off_ends_by_itself
    @inbox.push(batch)
    @inbox.next_job
    @inbox.pause(:backoff, 0.001)
    @inbox.release
    assert_equal 1, pushed.size
    @timer.pass
    assert_equal 2, pushed.size
  end

  def test_rests_while_any_reason_holds
    @inbox.resume(:user) # which never began
    @inbox.pause(:user)
    @inbox.pause(:backoff, 60)
    @inbox.pause(:quiet)
    %i[user backoff quiet].each do |reason|
      assert_predicate @inbox, :paused?
      assert @inbox.resume(reason)
    end
    refute_predicate @inbox, :paused?
  end

  def test_a_back_off_that_ends_leaves_the_others
    @inbox.pause(:user)
    @inbox.pause(:backoff, 0.001)
    assert @timer.pass
    assert_equal [true, false, true, false], [@inbox.paused?, @inbox.resume(:backoff), @inbox.resume(:user), @inbox.paused?]
  end

  def test_it_tells_only_of_a_time_that_is_over
    told = []
    @inbox.pause(:user, 0.001) { told << 1 }
    @inbox.pause(:user, 0.001) { told << 2 }
    2.times { @timer.pass }
    @inbox.pause(:user, 0.001) { told << 3 }
    @inbox.resume(:user)
    @timer.pass
    assert_equal [2], told
  end

  def test_another_pause_for_the_same_reason_takes_its_place
    assert @inbox.pause(:user, 0.001)
    refute @inbox.pause(:user)
    refute @timer.pass, "the first one's alarm"
    assert_predicate @inbox, :paused?
  end

  def test_all_pauses_end_with_the_partition
    @inbox.pause(:user, 60)
    @inbox.pause(:quiet)
    @inbox.leave(:revoked)
    refute_predicate @inbox, :paused?
    refute @timer.pass
  end

  def test_a_seek_voids_what_waits
    @inbox.push(batch)
    yielded = false
    @inbox.seek { yielded = true }
    assert_equal [true, true, nil, 0], [yielded, !@inbox.takes?, @inbox.next_job, @queue.allowed]
    @inbox.release
    @inbox.push(batch)
    assert_nil @inbox.records, "nothing is taken on meanwhile"
    @inbox.sought { false }
    refute_predicate @inbox, :takes?, "there was another seek"
    @inbox.sought { true }
    @inbox.push(batch)
    assert_equal [1, 2], @inbox.records
  end

  def test_the_end_is_urgent_and_the_last_job
    @inbox.push(one = batch)
    assert_equal [:consume, one], @inbox.next_job
    @inbox.pause(:user)
    @inbox.leave(:revoked)
    assert_equal [0, false], [@queue.allowed, @inbox.wait_left(Guildhall::Clock.now)]
    @inbox.release
    assert_equal [true, %i[leave revoked]], [pushed.last, @inbox.next_job]
    @inbox.end_leaving
    @inbox.release
    assert_equal [2, nil, true], [pushed.size, @inbox.next_job, @inbox.wait_left(Guildhall::Clock.now)]
    @inbox.notify(:tick)
    @inbox.push(batch)
    assert_nil @inbox.next_job
  end

  # The listener waits for it, and polls no more until then.
  def test_a_runner_that_was_called_before_the_end_comes_at_once
    @inbox.notify(:tick)
    @inbox.request_key_retry
    assert_equal [[:job, false], [:retries, false]], @runners.pushed
    @inbox.leave(:revoked)
    assert_equal %i[job retries], @runners.hurried
  end

  def test_knows_whether_it_is_idle
    assert_predicate @inbox, :idle?
    @inbox.pause(:user)
    refute_predicate @inbox, :idle?
    @inbox.resume(:user)
    @inbox.push(batch)
    refute_predicate @inbox, :idle?
  end

  def test_says_why_it_rests_and_until_when
    @inbox.push(batch)
    @inbox.pause(:user)
    @inbox.pause(:backoff, 60)
    view = @inbox.view
    assert_equal [:assigned, 2, %i[user backoff]], [view.state, view.messages, view.rests.keys]
    assert_nil view.rests[:user].last
    assert_in_delta 60, view.rests[:backoff].reverse.reduce(:-), 0.001
    assert_in_delta Guildhall::Clock.now, view.rests[:backoff].first, 5
    @inbox.leave(:shutdown)
    view = @inbox.view
    assert_equal [:leaving, {}, 0], [view.state, view.rests, view.messages]
    assert view.busy_since, "a runner is called for its end"
  end

  def test_parked_keys_are_tried_beside_the_batches_by_one_runner
    2.times { @inbox.request_key_retry }
    assert_equal 1, retries
    @inbox.push(one = batch)
    assert_equal [:consume, one], @inbox.next_job
    @inbox.key_retry_ended(again: false)
    assert_equal 2, retries, "it was called again meanwhile"
    @inbox.key_retry_ended(again: true)
    assert_equal 3, retries
    @inbox.pause(:keys)
    @inbox.key_retry_ended(again: true)
    assert_equal 4, retries, "the partition rests for them"
  end

  def test_parked_keys_wait_for_the_users_pause
    @inbox.pause(:user)
    @inbox.request_key_retry
    assert_equal 0, retries
    @inbox.resume(:user)
    assert_equal 1, retries
  end

  def test_the_end_waits_for_parked_keys_that_are_being_tried
    @inbox.request_key_retry
    assert_predicate @inbox, :working?
    assert_in_delta Guildhall::Clock.now, @inbox.busy_since, 30
    @inbox.leave(:revoked)
    assert_nil @inbox.next_job
    @inbox.key_retry_ended(again: true)
    assert_equal %i[leave revoked], @inbox.next_job
  end

  def test_a_batch_that_a_seek_has_made_void_pauses_nothing
    @inbox.push(void = batch)
    @inbox.seek { nil }
    @inbox.sought { true }
    assert_nil @inbox.pause_for(void, :keys)
    refute_predicate @inbox, :paused?
  end

  def test_who_has_paused_for_a_batch_does_not_end_a_later_pause
    pauses = Array.new(2) do
      @inbox.seek { nil }
      @inbox.sought { true }
      @inbox.push(one = batch)
      @inbox.pause_for(one, :dead_letters)
    end
    refute @inbox.resume(:dead_letters, pauses.first)
    assert_predicate @inbox, :paused?
    assert @inbox.resume(:dead_letters, pauses.last)
    refute_predicate @inbox, :paused?
  end

  def test_a_seek_ends_the_rest_for_parked_keys
    @inbox.pause(:keys)
    @inbox.seek { nil }
    @inbox.sought { true }
    refute_predicate @inbox, :paused?
  end
end
