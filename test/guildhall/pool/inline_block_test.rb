# frozen_string_literal: true

require "test_helper"
require "support/pool_tasks"
require "guildhall/pool"

# Blocks that are written at the call.
class PoolInlineBlockTest < GuildhallTest
  # What blocks are written in: shareable, and of the same class.
  Shop = Data.define(:rate) do
    def priced(pool, numbers, discount) = pool.map(numbers, ->(number) { (number * rate) - discount })
    def rounded(pool, texts) = pool.map(texts) { |text| Integer(text) }
  end

  # The same, not shareable, and not needed.
  class Stall
    def initialize = @stock = []
    def rounded(pool, texts) = pool.map(texts) { |text| Integer(text) }
    def loaded(pool, names) = pool.map(names) { |name| require(name) ? pp(name) : name }
    def counted(pool, texts) = pool.map(texts) { |text| @stock << text }
  end

  def setup
    @pool = Guildhall::Pool.new(workers: 1)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def adding(captured) = nil.instance_exec { ->(number) { number + captured } }

  def registry = @pool.instance_variable_get(:@registry)

  def looked_at(&)
    looks = 0
    trace = TracePoint.new(:call) { |point| looks += 1 if point.method_id == :learn && point.self.equal?(registry) }
    trace.enable(&)
    looks
  end

  def test_each_has_what_it_captures
    3.times { |number| assert_equal [1 + number, 2 + number], @pool.map([1, 2], adding(number)) }
  end

  def test_they_are_looked_at_once
    @pool.map([1], adding(1))
    assert_equal(0, looked_at { 5.times { |number| @pool.map([1], adding(number)) } })
  end

  def test_each_has_its_self_where_it_is_shareable
    3.times { |rate| assert_equal [rate - 1, (2 * rate) - 1], Shop.new(rate:).priced(@pool, [1, 2], 1) }
    assert_equal(0, looked_at { Shop.new(rate: 7).priced(@pool, [1], 3) })
  end

  def test_one_that_captures_what_is_not_shareable_is_refused_whatever_came_before
    @pool.map([1], adding(1))
    error = assert_raises(Guildhall::NotShareableError) { @pool.map(["a"], adding(+"x")) }
    assert_includes error.message, "captured"
    assert_equal [3], @pool.map([1], adding(2))
  end

  def test_one_that_captures_code_is_looked_at_again
    task = ->(inner) { nil.instance_exec { ->(name) { inner.respond_to?(:call) ? inner.call(name) : inner } } }
    assert_equal [1], @pool.map(%w[a], task.call(1))
    skip "self is not shareable" if RUBY_VERSION < "4"
    assert_equal %w[A], @pool.map(%w[a], task.call(PoolTasks::Upcase))
    assert_equal [2], @pool.map(%w[a], task.call(2))
  end

  def test_a_self_that_is_not_shareable_is_none_where_it_is_not_needed
    skip "blocks keep their self" if RUBY_VERSION < "4"
    2.times { assert_equal [3], Stall.new.rounded(@pool, %w[3]) }
    assert_equal(0, looked_at { Stall.new.rounded(@pool, %w[4]) })
    2.times { assert_raises(Guildhall::NotShareableError) { Stall.new.counted(@pool, %w[3]) } }
  end

  def test_kernels_functions_need_no_self_once_ractors_live_either
    skip "blocks keep their self" if RUBY_VERSION < "4"
    @pool.map([1], adding(1), parallel: true) # the first Ractor replaces `require`
    assert_equal %w[set], Stall.new.loaded(@pool, %w[set])
  end

  def test_the_same_block_of_a_shareable_self_and_of_one_that_is_not
    2.times { assert_equal [5], Shop.new(rate: 1).rounded(@pool, %w[5]) }
  end
end
