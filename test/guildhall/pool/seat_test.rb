# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# What happens between a worker, a caller and the coordinator, step by step: threads play the workers, and the order of events
# is the one that would do harm.
class PoolSeatTest < GuildhallTest
  include PoolTasks

  # Waits at a payload that is a gate's name until the gate is opened. Runs in the main Ractor only.
  module Gated
    GATES = Hash.new { |gates, name| gates[name] = [Thread::Queue.new, Thread::Queue.new] }

    def self.call(payload)
      return payload unless payload.start_with?("gate")

      reached, opened = GATES[payload]
      reached << true
      opened.pop
      payload
    end

    def self.await(name) = GATES[name].first.pop(timeout: 10) || raise("nobody came to #{name}")
    def self.open(name) = GATES[name].last << true
  end

  # Ends its thread the first time.
  module Deadly
    SEEN = Thread::Queue.new

    def self.call(payload)
      SEEN << payload
      Thread.exit if payload == "die" && SEEN.size == 1
      raise Interrupt, "from outside" if payload == "interrupt"

      payload
    end
  end

  def setup
    @queue = Guildhall::Pool::FairQueue.build(10, 2)
  end

  def batch(payloads, task, deadline: nil, slice: nil)
    profile = Guildhall::Pool::Profiles.new[task]
    Guildhall::Pool::Batch.build(@queue, profile, payloads, nil, false, true, deadline, slice)
  end

  def seat = Guildhall::Pool::Seat.build(@queue)

  # A seat that has taken a slice, and a thread that runs it.
  def worker
    sitting = seat.tap { |mine| assert mine.take }
    [sitting, Thread.new { sitting.work }]
  end

  def failure = Guildhall::Failure.of(Guildhall::StuckError.new("stuck"), 0)

  def test_what_a_worker_died_with_is_found_again_although_a_helping_caller_was_interrupted
    mine = batch(%w[die interrupt b], Deadly)
    @queue.push(mine, nil, 1, false)
    dead, thread = worker
    thread.join
    dead.recover(nil) # once more, and not in a caller's thread
    assert_raises(Interrupt) { mine.help }
    Deadly::SEEN << "so that it lives"
    worker.last.join
    assert_predicate mine, :complete?
    assert_equal "die", mine.at(0, nil)
  end

  def test_the_coordinator_cannot_take_one_payload_for_the_one_before
    first, second = Array.new(2) { |number| batch(["gate #{number} of two"], Gated, deadline: 0.0001) }
    @queue.push(first, 1, 1, true)
    @queue.push(second, 1, 1, true)
    sitting, thread = worker
    Gated.await("gate 0 of two")
    index, late, since = eventually { sitting.overdue.then { |seen| seen if seen[1].positive? } }
    assert_operator late, :>, 0
    Gated.open("gate 0 of two") # meanwhile it has been done
    thread.join
    assert sitting.take
    thread = Thread.new { sitting.work }
    Gated.await("gate 1 of two")
    refute sitting.abandon(index, since, failure)
    refute_predicate second, :complete?
    _, _, since = sitting.overdue
    assert sitting.abandon(index, since, failure)
    assert_predicate second, :complete?
    Gated.open("gate 1 of two")
    thread.join
    assert_equal 0, @queue.seated
  end

  def test_a_worker_that_was_given_up_runs_nothing_more_and_others_do_it
    mine = batch(["gate alone", "a", "b"], Gated, deadline: 0.0001, slice: 3)
    @queue.push(mine, nil, 1, true)
    sitting, thread = worker
    Gated.await("gate alone")
    index, _, since = sitting.overdue
    assert sitting.abandon(index, since, failure)
    Gated.open("gate alone")
    thread.join
    assert_equal 1, mine.done
    refute sitting.take
    worker.last.join
    assert_equal %w[a b], mine.outcomes.last(2)
    assert_equal 1, @queue.counts.last # the late result
  end

  def test_room_is_waited_for_where_there_is_some_but_not_enough
    @queue.push(batch(%w[a] * 6, Upcase), nil, 1, true)
    refute @queue.wait_for_room(6, 0.01)
    assert @queue.wait_for_room(4, 0.01)
  end

  def test_idle_workers_are_counted_right_whatever_ends_their_wait
    seats = Array.new(4) { seat }
    seats[0].retire
    threads = seats.map { |sitting| Thread.new { sitting.take } }
    eventually { @queue.idle == 3 }
    threads[1].kill.join
    threads[2].report_on_exception = false
    threads[2].raise(IOError)
    assert_raises(IOError) { threads[2].join }
    assert_equal 1, @queue.idle
    @queue.push(batch(%w[a], Upcase), nil, 1, true)
    assert threads[3].value
    assert_equal 0, @queue.idle
  end

  def test_the_line_outlives_collections_and_leads_to_nothing_unshareable
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall/pool"
      require "support/pool_tasks"
      queue = Guildhall::Pool::FairQueue.build(10, 2)
      profile = Guildhall::Pool::Profiles.new[PoolTasks::Upcase]
      batch = Guildhall::Pool::Batch.build(queue, profile, %w[a b], nil, false, true, nil, nil)
      queue.push(batch, "a source".dup, 1, true)
      GC.start
      GC.compact if GC.respond_to?(:compact)
      GC.verify_internal_consistency # Ruby 4.0 also looks for what is not shareable behind what is
      p queue.depths
      seat = Guildhall::Pool::Seat.build(queue)
      seat.take && seat.work
      p batch.outcomes, queue.payloads
    RUBY
    assert_equal "[[\"a source\", 2]]\n[\"A\", \"B\"]\n0\n", out
  end
end
