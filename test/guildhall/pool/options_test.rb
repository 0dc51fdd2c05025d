# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/pool_tasks"

# Options of the pool's methods are checked before anything is begun, all of them at once.
class PoolOptionsTest < GuildhallTest
  include PoolTasks

  WRONG = {
    priority: [0, -1, 2**31, 1.5, "x"], slice: [-1, 0, 0.5, 10**30], deadline: [0, -1, Float::NAN, Float::INFINITY, "1"], parallel: [:yes], retry: [:banana, nil],
    metadata: ["a"], records: [nil]
  }.freeze

  def setup
    @pool = Guildhall::Pool.new(workers: 1)
  end

  def teardown
    refute_predicate @pool, :workers?
    @pool.shutdown
  end

  WRONG.each do |name, values|
    define_method(:"test_#{name}_is_checked") do
      values.each do |value|
        %i[dispatch map results].each do |method|
          error = assert_raises(::ArgumentError, "#{method} #{value.inspect}") { @pool.public_send(method, %w[a], Upcase, name => value) }
          assert_kind_of Guildhall::Error, error
          assert_includes error.message, "#{name} must be"
        end
      end
    end
  end

  def test_records_need_their_bytes
    %i[dispatch map results].each do |method|
      error = assert_raises(Guildhall::ArgumentError) { @pool.public_send(method, %w[a], Upcase, records: true) }
      assert_equal "records: true is for payloads with `raw_payload`; payloads[0] is a String", error.message
    end
    assert_empty @pool.map([], Upcase, records: true)
  end

  def test_all_that_is_wrong_is_named_together
    error = assert_raises(Guildhall::ArgumentError) { @pool.dispatch(%w[a], Upcase, priority: 0, slice: 0, dedline: 1) }
    assert_includes error.message, "priority must be"
    assert_includes error.message, "slice must be"
    assert_includes error.message, "unknown option dedline; did you mean deadline?"
  end

  def test_what_a_method_does_not_take_is_named_with_what_it_takes
    error = assert_raises(Guildhall::ArgumentError) { @pool.dispatch(%w[a], Upcase, wait: 1) }
    assert_includes error.message, "there are source, metadata, records, prepare, parallel, deadline, retry, slice, priority"
    assert_raises(Guildhall::ArgumentError) { @pool.dispatch(%w[a], Upcase, timeout: 1) }
    assert_raises(Guildhall::ArgumentError) { @pool.each(%w[a], Upcase, size: 1) { flunk } }
    assert_raises(Guildhall::ArgumentError) { @pool.lazy(%w[a], Upcase, chunk: 0) }
  end

  def test_an_unknown_setting_is_a_configuration_error_with_a_suggestion
    error = assert_raises(Guildhall::ConfigurationError) { Guildhall::Pool.new(wrokers: 2, capacity: 0) }
    assert_includes error.message, "unknown setting wrokers; did you mean workers?"
    assert_includes error.message, "capacity must be"
  end
end
