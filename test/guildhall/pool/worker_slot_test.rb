# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# What happens between a worker, a caller and the supervisor, step by step: threads play the workers, and the order of events
# is the one that would do harm.
class PoolWorkerSlotTest < GuildhallTest
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

    def self.await(name) = GATES[name].first.pop(timeout: 60) || raise("nobody came to #{name}")
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

  # Ends its thread at its gate; other payloads take a moment, in the main Ractor only.
  module Doomed
    REACHED, OPENED = Array.new(2) { Thread::Queue.new }

    def self.call(payload)
      return sleep(0.0002) && payload unless payload == "die"

      REACHED << true
      OPENED.pop
      Thread.exit
    end
  end

  def setup
    @queue = Guildhall::Pool::FairQueue.build(10, 2)
    @queue.target_worker_count = 2
  end

  def batch(payloads, task, deadline: nil, slice: nil, source: nil, weight: 1, tried: true)
    runnable = Guildhall::Pool::TaskRegistry.new.runnable(task, Guildhall::Pool::TaskCode.build(task.name, false, tried, nil))
    Guildhall::Pool::Batch.build(@queue, runnable, payloads, nil, false, true, deadline, slice, source, weight)
  end

  def slot = Guildhall::Pool::WorkerSlot.build(@queue)

  # A slot that has taken a slice, and a thread that runs it.
  def worker
    sitting = slot.tap { |mine| assert mine.take }
    [sitting, Thread.new { sitting.work }]
  end

  def failure = Guildhall::Failure.of(Guildhall::StuckError.new("stuck"), 0)

  # A worker that has just found nothing sees a batch come, and the queue be closed: some of a thousand such moments used to meet.
  def test_what_was_queued_before_the_queue_was_closed_is_taken
    left = assert_ruby(<<~'RUBY')
      require "guildhall/pool"
      Warning[:experimental] = false
      module Echo
        def self.call(payload) = payload
      end
      pool = Guildhall::Pool
      runnable = pool::TaskRegistry.new.runnable(Echo, pool::TaskCode.build("Echo", false, true, nil))
      slots, taken = Guildhall::Queue.new(1), Guildhall::Queue.new(1)
      Ractor.new(slots, taken) do |from, to|
        while (slot = from.pop)
          to.push(slot.take)
          slot.announce_exit
        end
      end
      left = 5_000.times.count do
        queue = pool::FairQueue.build(10, 2)
        slots.push(pool::WorkerSlot.build(queue))
        Thread.pass until queue.idle == 1
        queue.push(pool::Batch.build(queue, runnable, ["a"], nil, false, true, nil, 1, nil, 1))
        queue.close
        !taken.pop
      end
      print left
    RUBY
    assert_equal "0", left
  end

  def test_what_a_worker_died_with_is_found_again_although_a_helping_caller_was_interrupted
    mine = batch(%w[die interrupt b], Deadly)
    @queue.push(mine)
    dead, thread = worker
    thread.join
    dead.recover(nil) # once more, and not in a caller's thread
    assert_raises(Interrupt) { mine.help(nil) }
    Deadly::SEEN << "so that it lives"
    3.times { worker.last.join unless mine.complete? } # nothing is known of what it costs: a payload a slice
    assert_predicate mine, :complete?
    assert_equal "die", mine.at(0, nil)
  end

  # In a trial the comparison has left the rest to the reader, which may not run what a worker died of.
  def test_a_worker_that_dies_of_a_batch_that_its_reader_runs_alone_leaves_it_to_workers
    mine = batch(["die"] + (["x"] * 4000), Doomed, slice: 1)
    mine.decide(true)
    @queue.push(mine)
    dead, thread = worker
    assert Doomed::REACHED.pop(timeout: 60)
    other = slot
    reader_alone = -> { @queue.costs.any? { |_, _, payloads, *, spread| payloads.positive? && !spread } }
    3000.times { break if reader_alone.call || !other.take || other.work || !mine.wait(nil, 0, 0) }
    assert reader_alone.call, "no trial has begun"
    Doomed::OPENED << true
    thread.join
    assert_equal 0, dead.recover(nil)
    2.times do
      refute mine.help?(nil, true), "it would look again and again"
      mine.wait(nil, 0, 0) # measures
    end
    taking = Thread.new { other.take }
    assert taking.join(60), "no worker gets it"
    assert taking.value
  ensure
    @queue.close
    taking&.join
  end

  # All workers were busy, so that its reader has run the batch; it stays in line until a worker looks at it.
  def test_room_that_a_worker_makes_without_finding_work_is_told_to_who_waits_for_it
    mine = batch(%w[a] * 10, Upcase)
    @queue.push(mine)
    mine.help(nil) until mine.complete?
    waiting = Thread.new { @queue.wait_for_room(10, 30) }
    eventually { waiting.stop? }
    looking = Thread.new { slot.take }
    assert waiting.join(60), "nobody has told it"
    assert waiting.value
    eventually { looking.stop? }
    assert_equal 1, @queue.idle
    @queue.push(batch(%w[b], Upcase))
    assert looking.value
    assert_equal 0, @queue.idle
  ensure
    @queue.close
    [waiting, looking].compact.each(&:join)
  end

  def test_a_waiter_for_the_end_is_woken_by_the_last_payload_and_the_last_worker
    mine = batch(%w[a], PoolTasks::Upcase)
    @queue.push(mine)
    sitting = slot.tap { |one| assert one.take }
    refute @queue.wait_until_drained(0)
    refute @queue.wait_until_workerless(0)
    waiting = %i[wait_until_drained wait_until_workerless].map { |name| Thread.new { @queue.public_send(name, nil) }.tap { |thread| eventually { thread.stop? } } }
    sitting.work
    assert waiting.first.value
    sitting.announce_exit
    assert waiting.last.value
  end

  def test_the_supervisor_cannot_take_one_payload_for_the_one_before
    first, second = Array.new(2) { |number| batch(["gate #{number} of two"], Gated, deadline: 0.0001, source: 1) }
    @queue.push(first)
    @queue.push(second)
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
    assert_equal 0, @queue.worker_count
  end

  def test_a_worker_that_was_given_up_runs_nothing_more_and_others_do_it
    mine = batch(["gate alone", "a", "b"], Gated, deadline: 0.0001, slice: 3)
    @queue.push(mine)
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

  def test_after_a_worker_was_given_up_callers_run_nothing_and_fail_what_no_worker_comes_for
    mine = batch(["gate left", "a"], Gated, deadline: 0.0001, slice: 1)
    @queue.push(mine)
    sitting, thread = worker
    Gated.await("gate left")
    index, _, since = sitting.overdue
    assert sitting.abandon(index, since, failure)
    @queue.target_worker_count = 1
    refute mine.help?(nil, true)
    @queue.target_worker_count = 0
    assert mine.help?(nil, false)
    assert mine.help(nil)
    assert_match(/no worker is left/, mine.outcomes.last.message)
    Gated.open("gate left")
    thread.join
  end

  # A reader that waited for the first outcome would never sleep: there are some already.
  def test_during_a_trial_a_reader_sleeps_although_something_was_cancelled
    mine = batch(["gate trial", "a", "b"], Gated, slice: 3, tried: false)
    @queue.push(mine)
    _, thread = worker
    Gated.await("gate trial")
    assert_equal 2, mine.cancel { failure }
    refute mine.wait(nil, 0, 0.01)
    Gated.open("gate trial")
    assert mine.wait(nil, 2, 10)
    thread.join
  end

  def test_native_batches_trust_no_index
    mine = batch(%w[a], Upcase)
    [[:wait, 500_000_000, 0, 0.1], [:help?, 500_000_000, false]].each do |name, *arguments|
      assert_match(/the batch has 1/, assert_raises(Guildhall::ArgumentError) { mine.public_send(name, *arguments) }.message)
    end
    assert_raises(Guildhall::ArgumentError) { mine.decision = 99 }
  end

  def test_a_weight_of_none_starves_no_source
    greedy, small = [[%w[a b], 0], [%w[c], 1]].map { |payloads, weight| batch(payloads, Upcase, slice: 1, weight:) }
    [greedy, small].each { |one| @queue.push(one) }
    mine = slot
    2.times { mine.take && mine.work }
    assert_equal [1, 1], [greedy.done, small.done]
  end

  def test_native_batches_trust_no_argument
    runnable = Guildhall::Pool::TaskRegistry.new.runnable(Upcase, Guildhall::Pool::TaskCode.build("x", false, true, nil))
    build = ->(payloads, metadata) { Guildhall::Pool::Batch.build(@queue, runnable, payloads, metadata, false, true, nil, nil, nil, 1) }
    [[5, nil], [nil, nil], [{}, nil], [["x"], 5], [["x"], "x"]].each { |arguments| assert_raises(TypeError) { build.call(*arguments) } }
    Guildhall::Pool::Runnable.build(Upcase, false, nil, 0, nil, nil, nil, runnable.code, nil) # no decoder at 0
  end

  # For a process of its own: a batch in line.
  IN_LINE = <<~RUBY
    $LOAD_PATH.unshift("test")
    require "guildhall/pool"
    require "support/pool_tasks"
    queue = Guildhall::Pool::FairQueue.build(10, 2)
    runnable = Guildhall::Pool::TaskRegistry.new[PoolTasks::Upcase]
    batch = Guildhall::Pool::Batch.build(queue, runnable, %w[a b], nil, false, true, nil, 2, "a source".dup, 1)
    queue.push(batch)
  RUBY

  # A walk over all objects visits the line; what it allocates may collect garbage.
  def test_a_heap_walk_with_batches_in_line_ends
    size = assert_ruby(<<~RUBY)
      require "objspace"
      #{IN_LINE}
      GC.stress = true
      size = ObjectSpace.reachable_objects_from(queue).size
      GC.stress = false
      p size
    RUBY
    assert_operator Integer(size), :>=, 1
  end

  def test_room_is_waited_for_where_there_is_some_but_not_enough
    @queue.push(batch(%w[a] * 6, Upcase))
    refute @queue.wait_for_room(6, 0.01)
    assert @queue.wait_for_room(4, 0.01)
  end

  def test_idle_workers_are_counted_right_whatever_ends_their_wait
    slots = Array.new(4) { slot }
    slots[0].retire
    threads = slots.map { |sitting| Thread.new { sitting.take } }
    eventually { @queue.idle == 3 }
    threads[1].kill.join
    threads[2].report_on_exception = false
    threads[2].raise(IOError)
    assert_raises(IOError) { threads[2].join }
    assert_equal 1, @queue.idle
    @queue.push(batch(%w[a], Upcase))
    assert threads[3].value
    assert_equal 0, @queue.idle
  end

  def test_the_line_outlives_collections_and_leads_to_nothing_unshareable
    out = assert_ruby(<<~RUBY)
      #{IN_LINE}
      GC.start
      GC.compact if GC.respond_to?(:compact)
      GC.verify_internal_consistency # Ruby 4.0 also looks for what is not shareable behind what is
      p queue.depths
      slot = Guildhall::Pool::WorkerSlot.build(queue)
      slot.take && slot.work
      p batch.outcomes, queue.payloads
    RUBY
    assert_equal "[[\"a source\", 2]]\n[\"A\", \"B\"]\n0\n", out
  end
end
