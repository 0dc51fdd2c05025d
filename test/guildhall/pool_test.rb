# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"
require "support/pool_tasks"
require "timeout"

class PoolTest < GuildhallTest
  include PoolTasks

  def setup
    @pool = Guildhall::Pool.new(workers: 2)
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def test_results_are_in_order_frozen_and_made_by_workers
    results = @pool.map(Array.new(1000) { |i| "item #{i}" }, Upcase, parallel: true)
    assert_equal Array.new(1000) { |i| "ITEM #{i}" }, results
    assert_predicate results, :frozen?
    assert_equal [:worker], @pool.map(%w[a] * 50, WhichRactor, parallel: true).uniq
  end

  def test_deferred_payloads_run_in_the_reader_once
    future = @pool.dispatch(%w[a b c], WhichRactor, parallel: false)
    assert_predicate future, :deferred?
    refute_predicate future, :ready?
    assert_equal :main, future[1]
    assert future.ready?(1)
    refute future.ready?(0)
    assert_equal %i[main main main], future.value
  end

  def test_both_ways_give_the_same
    payloads = ["a", "standard", "not implemented", "stack", "memory", "exit", "throw", "unshareable", "custom", "cause", "z"]
    parallel = @pool.results(payloads, Trouble, parallel: true)
    deferred = @pool.results(payloads, Trouble, parallel: false)
    assert_equal(%w[RuntimeError NotImplementedError SystemStackError NoMemoryError SystemExit UncaughtThrowError
                    Guildhall::NotShareableError PoolTasks::CustomError ArgumentError],
      parallel[1..-2].map(&:error_class))
    assert_equal(parallel.map { |one| one.is_a?(String) ? one : [one.error_class, one.index] },
      deferred.map { |one| one.is_a?(String) ? one : [one.error_class, one.index] })
    assert_equal %w[A Z], parallel.values_at(0, -1)
    assert_equal [:worker], @pool.map(["a"] * 20, WhichRactor, parallel: true).uniq
  end

  def test_a_failure_says_what_happened
    failure = @pool.results(%w[a custom], Trouble, parallel: true).last
    assert_instance_of Guildhall::Failure, failure
    assert_predicate failure, :frozen?
    assert Ractor.shareable?(failure)
    assert_equal "PoolTasks::CustomError", failure.error_class
    assert_equal ["code 7", 1, nil, {code: 7}], [failure.message, failure.index, failure.stage, failure.details]
    assert_match(/pool_tasks\.rb:\d+/, failure.backtrace.first)
    error = assert_raises(CustomError) { failure.raise! }
    assert_equal [7, "code 7", failure.backtrace], [error.code, error.message, error.backtrace]
  end

  def test_a_failure_keeps_its_cause
    failure = @pool.results(%w[cause], Trouble, parallel: true).first
    assert_equal %w[ArgumentError outer KeyError inner],
      [failure.error_class, failure.message, failure.cause.error_class, failure.cause.message]
    error = assert_raises(::ArgumentError) { failure.raise! }
    assert_instance_of KeyError, error.cause
  end

  def test_value_raises_the_first_failure_after_all_are_done
    future = @pool.dispatch(%w[a standard custom b], Trouble, parallel: true)
    error = assert_raises(RuntimeError) { future.value }
    assert_equal ["standard (payload 1)", 1], [error.message, error.payload_index]
    assert_kind_of Guildhall::PayloadError, error
    assert_predicate future, :ready?
    assert_equal %w[A B], future.results.grep(String)
    assert_equal [1, 2], future.failures.map(&:index)
  end

  def test_a_payload_that_ends_its_worker_fails_alone
    results = @pool.results(["a", "thread exit", "b", "c"], Trouble, parallel: true)
    assert_equal(["A", "Guildhall::WorkerDiedError", "B", "C"], results.map { |one| one.is_a?(String) ? one : one.error_class })
    assert_equal 1, results[1].index
    assert_equal [:worker], @pool.map(%w[a] * 20, WhichRactor, parallel: true).uniq
    eventually { @pool.stats[:workers] == 2 }
  end

  def test_each_gives_outcomes_in_order_before_the_batch_is_complete
    future = @pool.dispatch([0, 0, 0.5], Sleepy, parallel: true)
    seen = []
    future.each do |outcome|
      seen << outcome
      refute_predicate future, :ready? if seen.size == 1
    end
    assert_equal [0, 0, 0.5], seen
    assert_equal [0, 0, 0.5], future.to_a
  end

  def test_each_ready_gives_what_is_there_first
    future = @pool.dispatch([0.3, 0, 0], Sleepy, parallel: true, slice: 1)
    assert_equal [0, 1, 2], future.each_ready.to_a.map(&:last).sort
    future = @pool.dispatch([0.3, 0, 0], Sleepy, parallel: true, slice: 1)
    refute_equal 0, future.each_ready.to_a.first.last
  end

  def test_index_waits_for_one
    future = @pool.dispatch([0.3, 0, 0], Sleepy, parallel: true, slice: 1)
    assert_equal 0, future[1]
    assert_equal 0, future[-1]
    assert_nil future[3]
    assert_nil future[-4]
    refute future.ready?(0)
    assert_in_delta 0.3, future[0]
  end

  def test_time_outs
    future = @pool.dispatch([0.5], Sleepy, parallel: true)
    refute future.wait(timeout: 0.01)
    assert_raises(Guildhall::TimeoutError) { future.value(timeout: 0.01) }
    assert_equal [0.5], future.value(timeout: 60)
  end

  def test_metadata_and_records
    assert_equal [["a", 1], ["b", 2]], @pool.map(%w[a b], WithMetadata, metadata: [1, 2], parallel: true)
    assert_equal [["a", nil]], @pool.map(%w[a], WithMetadata, parallel: true)
    record = Ractor.make_shareable(Struct.new(:raw_payload, :key).new("bytes", 5))
    [true, false].each do |parallel|
      assert_equal [["bytes", record]], @pool.map([record], WithMetadata, records: true, parallel:)
    end
    error = assert_raises(Guildhall::ArgumentError) { @pool.dispatch(%w[a b], WithMetadata, metadata: [1]) }
    assert_includes error.message, "as long as payloads"
  end

  def test_the_callers_objects_stay_as_they_are
    text = +"unfrozen"
    future = @pool.dispatch([text], Upcase, parallel: false)
    text << " changed"
    refute_predicate text, :frozen?
    assert_equal ["UNFROZEN"], future.value
    assert_equal ["UNFROZEN CHANGED"], @pool.map([text], Upcase, parallel: true)
    refute_predicate text, :frozen?
  end

  def test_what_is_not_shareable_is_named
    task = Struct.new(:rules) { def call(_) = nil }.new([+"rule"]).freeze
    error = assert_raises(Guildhall::NotShareableError) { @pool.dispatch(%w[a], task) }
    assert_match(/\Atask\.rules/, error.path)
    error = assert_raises(Guildhall::NotShareableError) { @pool.dispatch([{a: [+"x"]}], Upcase) }
    assert_includes error.message, "payloads[0]"
    error = assert_raises(Guildhall::NotShareableError) { @pool.dispatch(%w[a], Upcase, metadata: [[+"x"]]) }
    assert_includes error.message, "metadata[0][0]"
    failure = @pool.results(%w[unshareable], Trouble, parallel: true).first
    assert_equal "result[0]", failure.details[:path]
    text = "x".dup.tap { |one| one.instance_variable_set(:@note, +"hidden") }.freeze
    assert_raises(Guildhall::NotShareableError) { @pool.dispatch([text], Upcase) }
    20.times { @pool.map(%w[a], Upcase) }
    assert_raises(Guildhall::NotShareableError) { @pool.map([text], Upcase) }
    assert_raises(Guildhall::ArgumentError) { @pool.dispatch(%w[a], Object.new) }
    assert_raises(Guildhall::ArgumentError) { @pool.dispatch("a", Upcase) }
  end

  class Own < String
  end

  module Described
    def self.call(text) = [text.class, text.encoding, text.frozen?, text.instance_variables]
  end

  def test_strings_of_any_kind_are_copied
    noted = "noted".dup.tap { |one| one.instance_variable_set(:@note, +"left out") }
    texts = [Own.new("own"), noted, "é".encode("IBM037"), "x".encode("UTF-16LE"), +""]
    described = texts.map { |text| [text.class, text.encoding, true, []] }
    assert_equal described, @pool.map(texts, Described, parallel: true)
    assert_equal described, @pool.map(texts, Described, parallel: false)
    assert_equal described, @pool.map(texts, Described)
    assert texts.none?(&:frozen?)
  end

  def test_codecs_are_called_natively_with_the_same_results_and_failures
    payloads = ['{"id": 1}', "{", "", '{"id": 2}', "\xff"]
    [Guildhall::JSON, Guildhall::JSON.lazy].each do |codec|
      inline = payloads.map do |payload|
        codec.call(payload)["id"]
      rescue Guildhall::DecodeError => error
        [error.class.name, error.message, error.offset]
      end
      [true, false].each do |parallel|
        results = @pool.results(payloads, codec, parallel:)
        seen = results.map { |one| one.is_a?(Guildhall::Failure) ? [one.error_class, one.message, one.details[:offset]] : one["id"] }
        assert_equal inline, seen
      end
    end
  end

  PAID = Guildhall::JSON.lazy >> Guildhall.select { |doc| doc["paid"] } >> Guildhall.map { |doc| doc.fetch("id") }

  def test_pipelines_drop_fail_and_name_the_stage
    payloads = ['{"paid": true, "id": 1}', '{"paid": false}', "{", '{"paid": true}']
    [true, false].each do |parallel|
      results = @pool.results(payloads, PAID, parallel:)
      assert_equal [1, Guildhall::DROPPED], results.first(2)
      assert_equal(%i[decode map], results.last(2).map(&:stage))
      assert_equal "KeyError", results[3].error_class
    end
  end

  def test_nil_and_false_are_results
    assert_equal [nil, false], @pool.map([nil, false], Identity, parallel: true)
  end

  module Identity
    def self.call(payload) = payload
  end

  def test_an_empty_batch_is_complete
    future = @pool.dispatch([], Upcase, parallel: true)
    assert_predicate future, :ready?
    assert_equal [], future.value
    assert_equal [], future.to_a
  end

  def test_cancel_fails_payloads_that_have_not_begun
    future = @pool.dispatch([0.1] * 20, Sleepy, parallel: true, slice: 1)
    eventually { @pool.stats[:busy] == 2 }
    assert_equal 18, future.cancel
    assert_equal ["Guildhall::CancelledError"], future.failures.map(&:error_class).uniq
    assert_equal 2, future.results.grep(Float).size
  end

  def test_shutdown_keeps_its_deadline_and_what_was_not_done_can_be_read
    future = @pool.dispatch([0.8, 0.8, 0, 0], Sleepy, parallel: true, slice: 1)
    eventually { @pool.stats[:busy] == 2 }
    refute @pool.shutdown(timeout: 0.05).complete
    assert_equal [0.8, 0.8, 0, 0], future.value(timeout: 60)
    assert_raises(Guildhall::PoolClosedError) { @pool.dispatch(%w[a], Upcase) }
    assert @pool.shutdown(timeout: 60).complete
  end

  def test_settings_are_checked_together
    error = assert_raises(Guildhall::ConfigurationError) { Guildhall::Pool.new(workers: -1, overflow: :explode) }
    assert_includes error.message, "workers must be"
    assert_includes error.message, "overflow must be :defer, :wait or :reject"
  end

  def test_a_caller_that_is_interrupted_leaves_its_payload_to_others
    future = @pool.dispatch([0, 5, 0], Sleepy, parallel: false)
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { future.value } }
    assert_equal 0, future[2]
    assert future.ready?(0)
    refute future.ready?(1)
    assert_equal 3, future.cancel + 2
  end

  def test_many_threads_read_one_deferred_batch
    future = @pool.dispatch((0..200).map(&:to_s), Upcase, parallel: false)
    values = Array.new(8) { Thread.new { future.value } }.map(&:value)
    assert_equal [future.value], values.uniq
  end
end
