# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolReductionTest < GuildhallTest
  Reduction = Guildhall::Pool::Reduction
  MULTIPLY = ->(left, right) { left * right } # here, because Ruby 3.4 keeps its self

  def of(*arguments, &block) = Reduction.of(arguments, block, :+)

  def test_takes_what_enumerable_reduce_takes
    assert_equal 6, of(:+).call([1, 2, 3])
    assert_equal 16, of(10, :+).call([1, 2, 3])
    assert_equal 6, of(&:+).call([1, 2, 3])
    assert_equal 24, of(4, &MULTIPLY).call([1, 2, 3])
  end

  def test_needs_one_operation
    [[], [1]].each do |arguments|
      error = assert_raises(Guildhall::ArgumentError) { Reduction.of(arguments.dup, nil, nil) }
      assert_includes error.message, "reduce needs an operation"
    end
    assert_raises(Guildhall::ArgumentError) { of(1, 2, :+) }
  end

  def test_can_cross_ractors_and_leaves_the_initial_value_alone
    initial = +"a"
    reduction = of(initial, :+)
    assert Ractor.shareable?(reduction)
    refute_predicate initial, :frozen?
    assert_equal %w[ab ac], [reduction.call(["b"]), reduction.call(["c"])]
  end

  def test_partial_results_are_combined_in_order
    assert_equal "abc", of(:+).combine(%w[a b c], nil)
    assert_equal 10, of(:push).combine([[1, 2], [3, 4]], ->(left, right) { left + right }).sum
  end

  def test_an_operation_may_change_the_initial_value
    append = of("", :<<)
    partials = [%w[a b], %w[c], %w[d]].map { |run| append.call(run).freeze }
    assert_equal "abcd", append.combine(partials, nil)
    assert_equal [1, 2, 3], of([], :push).combine([[1].freeze, [2].freeze, [3].freeze], :concat)
  end

  def test_no_payloads
    assert_nil of(:+).combine([], nil)
    assert_equal 5, of(5, :+).combine([], nil)
  end

  def test_runs_are_frozen_copies_where_payloads_are_not
    text = +"a"
    runs = Reduction.runs([text, "b", "c"], 2)
    assert_equal [%w[a b], %w[c]], runs
    assert Ractor.shareable?(runs.first)
    refute_predicate text, :frozen?
  end

  def test_a_source_is_read_run_by_run
    read = []
    runs = Reduction.runs((1..6).lazy.map { |n| n.tap { read << n } }, 2)
    assert_equal [1, 2], runs.first
    assert_equal [1, 2], read
  end

  def test_there_are_some_runs_a_worker_but_no_empty_ones
    assert_equal [250, 1, 1, 1_000], [Reduction.chunk(Array.new(2000), 2), Reduction.chunk([1], 8), Reduction.chunk([], 0), Reduction.chunk(1.., 4)]
    assert_equal 10_000, Reduction.chunk(Array.new(1_000_000), 1)
  end

  def test_of_few_payloads_workers_combine_most
    chunks = [[4, 16], [8, 2], [64, 16], [64, 2]].map { |size, workers| Reduction.chunk(Array.new(size), workers) }
    assert_equal [2, 4, 8, 8], chunks
  end
end
