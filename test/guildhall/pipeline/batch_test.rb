# frozen_string_literal: true

require "test_helper"
require "guildhall/pipeline"

# Many values a stage at a time: calls with all of them, and what one that raises or is dropped does to the others.
class PipelineBatchTest < GuildhallTest
  # Doubles all values in one call; cannot double "bad".
  class Doubling
    CALLS = Guildhall::Queue.new(100)

    def call(value) = value == "bad" ? raise("bad value") : value * 2

    def call_batch(values)
      CALLS.push(values.size)
      raise "not with these" if values.include?("bad")

      values.map { |value| value * 2 }
    end
  end

  class Miscounting < Doubling
    def call_batch(values) = values.drop(1)
  end

  def setup
    nil while Doubling::CALLS.try_pop
  end

  def run_batch(part, payloads, metadata = nil, &) = Guildhall::Pipeline.new([part]).call_batch(payloads, metadata, &)

  def test_one_call_for_all
    assert_equal [2, 4, 6], run_batch(Guildhall.map(Doubling.new.freeze), [1, 2, 3])
    assert_equal 3, Doubling::CALLS.try_pop
  end

  def test_a_call_for_all_that_raises_is_followed_by_one_for_each
    seen = []
    results = run_batch(Guildhall.map(Doubling.new.freeze, name: :double), %w[a bad b]) do |error, index|
      seen << [error.message, index]
      :failed
    end
    assert_equal ["aa", :failed, "bb"], results
    assert_equal [["bad value", 1]], seen
  end

  def test_without_a_block_the_first_error_is_raised
    assert_raises(RuntimeError) { run_batch(Guildhall.map(Doubling.new.freeze), %w[bad]) }
  end

  def test_as_many_answers_as_values_or_each_is_called
    assert_equal [2, 4], run_batch(Guildhall.map(Miscounting.new.freeze), [1, 2])
  end

  def test_what_is_dropped_is_not_given_to_the_next_stage
    pipeline = Guildhall.select(Ractor.make_shareable(Class.new { def call(value) = value.even? }.new)) >> Guildhall.map(Doubling.new.freeze)
    assert_equal [Guildhall::DROPPED, 4, Guildhall::DROPPED, 8], run_batch(pipeline, [1, 2, 3, 4])
    assert_equal 2, Doubling::CALLS.try_pop
  end

  def test_metadata_goes_along
    pairs = Guildhall.map(Ractor.make_shareable(Class.new { def call(value, metadata) = [value, metadata] }.new))
    assert_equal [[1, :a], [2, :b]], run_batch(pairs, [1, 2], %i[a b])
    assert_raises(Guildhall::ArgumentError) { run_batch(pairs, [1, 2], [:a]) }
  end

  def test_payloads_are_not_changed
    payloads = [1, 2].freeze
    run_batch(Guildhall.map(Doubling.new.freeze), payloads)
    assert_equal [1, 2], payloads
  end
end
