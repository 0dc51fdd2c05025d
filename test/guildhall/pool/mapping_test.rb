# frozen_string_literal: true

require "test_helper"
require "guildhall/json"
require "guildhall/pool"
require "support/pool_tasks"

# What a whole input comes to: map and its kin, with tasks and with blocks.
class PoolMappingTest < GuildhallTest
  include PoolTasks

  MERGE = Ractor.make_shareable(->(left, right) { left.merge(right) { |_, one, other| one + other } })
  WAYS = [{}, {parallel: true}, {parallel: false}].freeze

  def setup
    @pool = Guildhall::Pool.new(workers: 2)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  # Ruby 3.4 keeps a block's self, which has to be shareable: as it is in a module's body.
  module Blocks
    DOUBLE = proc { |number| number * 2 }
    EVEN = proc { |number| number if number.even? }
    PAIR = proc { |key, value| [key, value].freeze }
    ADD = proc { |memo, number| memo + number }
    DIVIDE = proc { |memo, number| memo + (1 / (90 - number)) }
    COUNT = proc { |counts, word| counts[word] += 1 and counts }
    SHARE = proc { |list| 1 / list.size }
    WHERE = proc { |_| Ractor.main? ? :main : :worker }
    WHERE_OF_TWO = proc { |_, _| Ractor.main? ? :main : :worker }
  end

  def test_a_block_is_a_task
    WAYS.each { |how| assert_equal [2, 4], @pool.map([1, 2], **how, &Blocks::DOUBLE) }
    assert_equal [2, 4], @pool.results([1, 2], &Blocks::DOUBLE)
    assert_equal [2, 4], @pool.dispatch([1, 2], &Blocks::DOUBLE).value
    assert_equal [:worker], @pool.map([1] * 10, parallel: true, &Blocks::WHERE).uniq
  end

  def test_one_task_is_needed
    assert_includes assert_raises(Guildhall::ArgumentError) { @pool.map([1]) }.message, "or a block"
    assert_raises(Guildhall::ArgumentError) { @pool.map([1], Upcase, &Blocks::DOUBLE) }
    assert_raises(Guildhall::ArgumentError) { @pool.dispatch([1]) }
  end

  def test_a_block_that_captures_what_cannot_be_shared_is_refused_by_name
    a = 1
    limit = [a, 2]
    error = assert_raises(Guildhall::NotShareableError) { @pool.map([1], &self.class.capturing(limit)) }
    assert_includes error.message, "limit"
  end

  def self.capturing(limit) = proc { |number| limit.include?(number) }

  def test_any_enumerable
    WAYS.each do |how|
      [1..3, Set[1, 2, 3], [1, 2, 3].each, (1..3).lazy, [1, 2, 3].to_enum.lazy.map(&:itself)].each do |payloads|
        assert_equal [2, 4, 6], @pool.map(payloads, **how, &Blocks::DOUBLE)
        assert_equal [2, 4, 6], @pool.results(payloads, **how, &Blocks::DOUBLE)
        assert_equal [2, 4, 6], @pool.dispatch(payloads, **how, &Blocks::DOUBLE).value
      end
    end
    error = assert_raises(Guildhall::ArgumentError) { @pool.map(5, Upcase) }
    assert_includes error.message, "not Integer"
  end

  def test_pairs_come_apart_as_in_hash_map
    WAYS.each { |how| assert_equal [[:a, 1], [:b, 2]], @pool.map({a: 1, b: 2}, **how, &Blocks::PAIR) }
    assert_equal [[1, :meta]], @pool.map([1], metadata: [:meta], &Blocks::PAIR)
  end

  def test_with_index
    WAYS.each { |how| assert_equal [["a", 0], ["b", 1]], @pool.map_with_index(%w[a b], **how, &Blocks::PAIR) }
    assert_equal [["a", 0], ["b", 1]], @pool.map_with_index(%w[a b].each, WithMetadata)
  end

  def test_with_index_takes_no_other_metadata
    [{metadata: [7, 8]}, {records: true}].each do |options|
      error = assert_raises(Guildhall::ArgumentError) { @pool.map_with_index(%w[a b], WithMetadata, **options) }
      assert_includes error.message, "unknown option #{options.keys.first}"
    end
  end

  def test_filter_map
    WAYS.each { |how| assert_equal [2, 4], @pool.filter_map(1..5, **how, &Blocks::EVEN) }
  end

  def test_reduce_as_enumerable_does
    WAYS.each do |how|
      assert_equal 5050, @pool.reduce(1..100, :+, **how)
      assert_equal 5050, @pool.reduce(1..100, 0, :+, **how)
      assert_equal 5050, @pool.reduce((1..100).lazy, **how, chunk: 7, &Blocks::ADD)
      assert_equal %w[a b c].sum(""), @pool.inject(%w[a b c], :+, **how, chunk: 1)
      assert_nil @pool.reduce([], :+, **how)
      assert_equal 7, @pool.reduce([], 7, :+, **how)
    end
    assert_raises(Guildhall::ArgumentError) { @pool.reduce([1]) }
    assert_raises(Guildhall::ArgumentError) { @pool.reduce([1], 1, 2, :+) }
  end

  def test_reduce_with_partial_results_of_another_kind
    words = %w[a b a c a b] * 10
    WAYS.each { |how| assert_equal words.tally, @pool.reduce(words, Hash.new(0), combine: MERGE, chunk: 7, **how, &Blocks::COUNT) }
  end

  def test_what_map_raises_knows_its_stage
    pipeline = Guildhall::JSON.lazy >> Guildhall.map(name: :share, &Blocks::SHARE)
    WAYS.each do |how|
      {"{" => :decode, "[]" => :share}.each do |payload, stage|
        error = assert_raises(StandardError) { @pool.map([payload], pipeline, **how) }
        assert_equal stage, Guildhall::Pipeline.stage_of(error), how
      end
    end
  end

  def test_reduce_names_and_counts_payloads
    WAYS.each do |how|
      [1..100, (1..100).lazy].each do |numbers|
        error = assert_raises(ZeroDivisionError) { @pool.reduce(numbers, chunk: 7, **how, &Blocks::DIVIDE) }
        assert_equal [89, "divided by 0 (payload 89)"], [error.payload_index, error.message]
        seen = []
        @pool.reduce(numbers, :+, chunk: 7, **how, progress: ->(done, _) { seen << done })
        assert_equal 100, seen.last
      end
      error = assert_raises(TypeError) { @pool.reduce([1, 2, 3, "4"], :+, chunk: 2, **how) }
      assert_match(/\(one of the payloads 2 to 3\)\z/, error.message)
    end
  end

  def test_the_partial_results_are_made_by_workers
    ractors = @pool.reduce(Array.new(40, 0), 0, combine: ->(one, other) { [one, other].flatten }, parallel: true, chunk: 10,
      &Blocks::WHERE_OF_TWO)
    assert_equal [:worker], ractors.uniq
  end

  def test_a_time_out_cancels_what_was_not_begun
    future = nil
    [true, false].each do |parallel|
      assert_raises(Guildhall::TimeoutError) { @pool.map([0.2] * 50, Sleepy, parallel:, slice: 1, timeout: 0.1) }
    end
    assert @pool.drain(timeout: 2), "cancelled payloads are still run"
    assert_nil future
    assert_equal [0, 0], @pool.map([0, 0], Sleepy, timeout: 5)
  end

  # Ends by itself, should nothing interrupt it.
  module Long
    def self.call(seconds)
      stop = Guildhall::Clock.now + seconds
      nil while Guildhall::Clock.now < stop
      seconds
    end
  end

  def test_a_time_out_interrupts_a_payload_that_runs_in_its_caller
    [{}, {progress: ->(_, _) {}}].each do |options|
      began = Guildhall::Clock.now
      assert_raises(Guildhall::TimeoutError) { @pool.map([20, 0], Long, parallel: false, timeout: 0.1, **options) }
      assert_raises(Guildhall::TimeoutError) { @pool.each([20, 0], Long, parallel: false, timeout: 0.1, **options) { nil } }
      assert_raises(Guildhall::TimeoutError) { @pool.reduce([1, 20], :+, parallel: false, timeout: 0) }
      assert_operator Guildhall::Clock.now - began, :<, 15
    end
  end

  def test_a_time_out_of_a_future_interrupts_a_payload_that_runs_in_its_reader
    20.times { @pool.map([0] * 50, Long) } # it is known to be brief
    began = Guildhall::Clock.now
    [{}, {parallel: false}].each do |how|
      future = @pool.dispatch([20], Long, **how)
      assert_raises(Guildhall::TimeoutError) { future.value(timeout: 0.1) }
      assert_raises(Guildhall::TimeoutError) { future.results(timeout: 0.1) }
      future.cancel
    end
    future = @pool.dispatch([0.5], Long, parallel: false)
    assert future.wait(timeout: 0.1), "who asks again and again would only begin it again and again"
    assert_operator Guildhall::Clock.now - began, :<, 15
    assert_equal [0], @pool.dispatch([0], Long, parallel: false).value(timeout: 60)
  end

  def test_a_reduction_that_could_not_combine_its_partial_results_is_refused
    [["apple"], ["apple"] * 1000].each do |words|
      error = assert_raises(Guildhall::ArgumentError) { @pool.reduce(words, 0, &Blocks::ADD) }
      assert_includes error.message, "combine:"
    end
    error = assert_raises(Guildhall::ArgumentError) { @pool.reduce([1], Hash.new { 0 }, combine: :+, &Blocks::ADD) }
    assert_includes error.message, "initial value (a Hash) cannot be copied"
  end

  def test_a_time_out_interrupts_what_combines_partial_results
    slow = ->(_, _) { Long.call(20) }
    began = Guildhall::Clock.now
    assert_raises(Guildhall::TimeoutError) { @pool.reduce([1, 2, 3, 4], :+, combine: slow, timeout: 0.2) }
    assert_operator Guildhall::Clock.now - began, :<, 15
  end

  def test_a_time_out_of_the_caller_is_not_taken_for_the_pools
    error = assert_raises(Timeout::Error) { Timeout.timeout(0.1) { @pool.map([20], Long, parallel: false, timeout: 20) } }
    assert_instance_of Timeout::Error, error
  end

  def test_what_has_no_instructions_is_no_task
    skip "Ruby #{RUBY_VERSION} says so in other words" if RUBY_VERSION.to_f < 4.0

    error = assert_raises(Guildhall::NotShareableError) { @pool.map(["1"], &method(:Integer)) }
    assert_match(/made of a Method/, error.message)
  end

  def test_progress_tells_a_callable
    seen = []
    assert_equal (2..20).step(2).to_a, @pool.map((1..10).to_a, progress: ->(done, total) { seen << [done, total] }, &Blocks::DOUBLE)
    assert_equal [10, 10], seen.last
    seen.clear
    @pool.each((1..10).lazy, progress: ->(done, total) { seen << [done, total] }, &Blocks::DOUBLE)
    assert_equal [10, nil], seen.last
  end

  def test_progress_needs_its_gem_and_says_so
    out = assert_ruby(<<~RUBY)
      require "guildhall/pool"
      module Kernel
        alias required require
        def require(feature) = feature == "ruby-progressbar" ? raise(LoadError.new("no").tap { |e| e.define_singleton_method(:path) { feature } }) : required(feature)
      end
      begin
        Guildhall.pool.map([1], Module.new { def self.call(x) = x }, progress: true)
      rescue Guildhall::MissingDependencyError => error
        puts error.message
      end
    RUBY
    assert_includes out, "gem \"ruby-progressbar\""
  end

  def test_progress_draws_a_bar_on_a_terminal
    require "pty"
    script = 'require "guildhall/pool"; Guildhall.pool.map((1..50).to_a, Module.new { def self.call(x) = x }, progress: "Doubling")'
    seen = +""
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    PTY.spawn(RbConfig.ruby, "-W0", *paths, "-e", script) do |output, input, child|
      loop { seen << output.readpartial(4096) }
    rescue Errno::EIO
      Process.wait(child)
    ensure
      [output, input].each(&:close) # PTY.spawn leaves that to the garbage collector
    end
    assert_match(%r{Doubling: \|=+\| 50/50}, seen)
  end
end
