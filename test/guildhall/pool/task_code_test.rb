# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# Which exceptions mean that code cannot run on workers.
class PoolTaskCodeTest < GuildhallTest
  UNSHAREABLE = "defined with an un-shareable Proc in a different Ractor"

  def code(tried: false) = Guildhall::Pool::TaskCode.build("Task", false, tried, nil)

  def judged(code, error)
    failure = Guildhall::Failure.of(error, 0)
    assert_same failure, code.judge(error, failure)
    failure
  end

  def caused(first, depth)
    depth.times.inject(first) do |cause, _|
      raise(::ArgumentError, "outer", cause:)
    rescue ::ArgumentError => error
      error
    end
  end

  def test_what_only_the_main_ractor_may_touch_refuses_the_code_once
    [Ractor::IsolationError.new("a"), Ractor::UnsafeError.new("b"), RuntimeError.new("c: #{UNSHAREABLE}"),
     caused(Ractor::IsolationError.new("d"), 4)].each do |error|
      one = code
      failure = nil
      assert_output("", /Task cannot run on workers, and is refused from now on/) { failure = judged(one, error) }
      assert_output("", "") { judged(one, error) }
      assert_equal [:refused, failure], [one.standing, one.refusal]
      assert_raises(Guildhall::IsolationError) { one.check! }
    end
  end

  def test_any_other_exception_is_a_trial_that_has_been_passed
    [RuntimeError.new("plain"), StandardError.new(UNSHAREABLE), caused(Ractor::IsolationError.new("too deep"), 5), Exception.new].each do |error|
      one = code
      assert_output("", "") { judged(one, error) }
      assert_equal :tried, one.standing
      assert_same one, one.check!
    end
  end

  def test_it_says_what_it_is
    assert_equal "#<Guildhall::Pool::TaskCode Task untried>", code.inspect
    assert_equal "#<Guildhall::Pool::TaskCode Task tried>", code(tried: true).inspect
  end
end
