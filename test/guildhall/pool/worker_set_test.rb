# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# How many workers there are, and what is left of those that have gone.
class PoolWorkerSetTest < GuildhallTest
  def setup
    @set = Guildhall::Pool::WorkerSet.new(10, Guildhall::Pool::Log.new)
  end

  def teardown
    @set.queue.close
    @set.retire_all
    assert @set.queue.wait_until_workerless(10)
  end

  def exited
    [].tap { |numbers| @set.each_exited { |handle| numbers << handle.number } }
  end

  def test_it_is_filled_up_and_thinned_out
    @set.resize(2)
    assert_equal [1, 2], @set.handles.map(&:number)
    @set.resize(2)
    assert_equal 2, @set.handles.size
    @set.resize(1)
    eventually { exited == [2] }
    assert_equal [1], @set.handles.map(&:number)
    @set.resize(2)
    assert_equal [1, 3], @set.handles.map(&:number)
  end

  def test_one_that_could_not_be_looked_after_is_yielded_again
    @set.resize(1)
    @set.retire_all
    eventually { @set.handles.first.slot.exited? }
    assert_raises(KeyError) { @set.each_exited { raise KeyError } }
    assert_equal [1], exited
    assert_empty exited
    assert_equal 0, @set.counts_of_exited.first
  end

  def test_none_that_is_idle_is_given_up
    @set.resize(1)
    refute @set.give_up(@set.handles.first, 0, 0, Guildhall::Failure.fatal(0))
    assert_empty @set.abandoned
  end
end
