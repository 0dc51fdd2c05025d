# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class TaskPerWorkerTest < GuildhallTest
  class Counter
    def initialize(start = 0, by: 1)
      @count = start
      @by = by
    end

    def call(_payload) = @count += @by
  end

  class WithMetadata
    def call(payload, metadata) = [payload, metadata]
  end

  def test_builds_one_tool_a_thread_and_keeps_it
    task = Guildhall::Task.per_worker(Counter, 10, by: 5)
    assert_equal [15, 20], [task.call(nil), task.call(nil)]
    assert_equal 15, Thread.new { task.call(nil) }.value
  end

  def test_two_tasks_of_one_class_have_tools_of_their_own
    tasks = Array.new(2) { Guildhall::Task.per_worker(Counter) }
    assert_equal [1, 1], tasks.map { |task| task.call(nil) }
  end

  def test_metadata_where_the_tool_takes_it
    assert_equal %i[a b], Guildhall::Task.per_worker(WithMetadata).call(:a, :b)
  end

  def test_what_cannot_work_is_refused
    assert_includes assert_raises(Guildhall::ArgumentError) { Guildhall::Task.per_worker(String) }.message, "whose instances have `call`, not String"
    assert_raises(Guildhall::ArgumentError) { Guildhall::Task.per_worker(Counter.new) }
    assert_raises(Guildhall::NotShareableError) { Guildhall::Task.per_worker(Counter, $stdout) }
  end

  def test_can_cross_ractors
    assert Ractor.shareable?(Guildhall::Task.per_worker(Counter))
  end
end
