# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"

class DroppedTest < GuildhallTest
  PAID = Guildhall::JSON >> Guildhall.select { |doc| doc["paid"] } >> Guildhall.map { |doc| doc["id"] }
  PAYLOADS = Array.new(9) { |i| %({"paid": #{i.odd?}, "id": #{i}}) }.freeze

  def test_it_says_what_it_is
    error = assert_raises(NoMethodError) { Guildhall::DROPPED["id"] }
    assert_match(/undefined method '\[\]' for Guildhall::DROPPED.*`select` left out/, error.message)
    assert_equal "Guildhall::DROPPED", Guildhall::DROPPED.inspect
    assert Ractor.shareable?(Guildhall::DROPPED)
    assert_raises(NoMethodError) { Guildhall::Dropped.new }
  end

  def test_ruby_may_ask_it_for_conversions
    first, second = Guildhall::DROPPED
    assert_equal [Guildhall::DROPPED, nil], [first, second]
    assert_equal [Guildhall::DROPPED], [[Guildhall::DROPPED]].flatten
    assert_equal "Guildhall::DROPPED", "#{Guildhall::DROPPED}" # rubocop:disable Style/RedundantInterpolation
    refute_respond_to Guildhall::DROPPED, :to_ary
  end

  def test_map_leaves_it_out_and_results_keeps_its_place
    pool = Guildhall::Pool.new(workers: 1)
    [{}, {parallel: true}, {parallel: false}].each do |how|
      values = pool.map(PAYLOADS, PAID, **how)
      assert_equal [1, 3, 5, 7], values
      assert_predicate values, :frozen?
      assert_equal [1, 3, 5, 7], pool.dispatch(PAYLOADS, PAID, **how).value
      assert_equal [0, 2, 4, 6, 8], (0..8).select { |i| Guildhall::DROPPED.equal?(pool.results(PAYLOADS, PAID, **how)[i]) }
    end
  ensure
    pool.shutdown
  end

  class Odd < StandardError
    attr_reader :code

    def initialize(code)
      @code = code
      super("whatever")
    end

    def message = "code #{code}"
  end

  module Failing
    def self.call(number)
      raise Odd, 7 if number == 41

      Integer(number)
    end
  end

  def test_an_error_says_which_payload_it_was_whatever_its_class
    pool = Guildhall::Pool.new(workers: 1)
    [{}, {parallel: true}, {parallel: false}].each do |how|
      error = assert_raises(Odd) { pool.map([*1..41, "x"], Failing, **how) }
      assert_equal [40, "code 7 (payload 40)", 7], [error.payload_index, error.message, error.code]
      error = assert_raises(::ArgumentError) { pool.map([1, "x"], Failing, **how) }
      assert_equal [1, 'invalid value for Integer(): "x" (payload 1)'], [error.payload_index, error.message]
      error = assert_raises(Guildhall::DecodeError) { pool.map(["1", "{"], Guildhall::JSON, **how) }
      assert_equal [1, true], [error.payload_index, error.message.end_with?("(payload 1)")]
      assert_kind_of Guildhall::PayloadError, error
    end
    refute_kind_of Guildhall::PayloadError, pool.results(["x"], Failing)[0].exception
  ensure
    pool.shutdown
  end
end
