# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/json"

# Which tasks are known already, which are the same code, and how many are remembered.
class PoolTaskRegistryTest < GuildhallTest
  RATES = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- on purpose

  # A literal is a new object at each call. In the class body: Ruby 3.4 keeps the self of its blocks.
  LITERALS = [->(text) { text.upcase }, ->(text) { RATES[text] }].freeze

  # Each of a class, and so of a code, of its own.
  def self.another = Ractor.make_shareable(Class.new { def call(payload) = payload }.new)

  def setup
    @registry = Guildhall::Pool::TaskRegistry.new
  end

  def test_what_was_admitted_is_not_looked_at_again
    runnable = @registry[Guildhall::JSON]
    assert_same runnable, @registry[Guildhall::JSON]
    assert_same runnable, @registry.known[Guildhall::JSON]
  end

  def test_lambdas_of_one_literal_are_one_code
    first, second = Array.new(2) { LITERALS.first.dup }.map { |block| @registry[block] }
    assert_equal first.code.number, second.code.number
    assert_equal 1, @registry.names.size
    assert_match(/\Alambda at .*task_registry_test\.rb:/, @registry.names.fetch(first.code.number))
  end

  def test_what_is_refused_is_refused_again
    errors = Array.new(2) { assert_raises(Guildhall::IsolationError) { @registry[LITERALS.last] } }
    assert_equal 1, errors.map(&:message).uniq.size
    assert_empty @registry.names
  end

  def test_a_code_that_a_worker_has_refused_is_refused_for_its_tasks
    runnable = @registry[Guildhall::JSON]
    runnable.code.refuse(Guildhall::Failure.of(Ractor::IsolationError.new("a global"), 0))
    assert_match(/JSON cannot run on workers, and so nowhere: a global/, assert_raises(Guildhall::IsolationError) { @registry[Guildhall::JSON] }.message)
  end

  def test_what_cannot_be_called_is_no_task
    [5, nil, Object.new.freeze].each do |task|
      assert_match(/a task needs the method `call`/, assert_raises(Guildhall::ArgumentError) { @registry[task] }.message)
    end
  end

  def test_the_oldest_are_forgotten
    oldest = self.class.another
    @registry[oldest]
    600.times { @registry[self.class.another] }
    assert_equal 512, @registry.known.size
    refute @registry.known.key?(oldest)
    assert_equal 512, @registry.names.size
  end

  def test_a_codec_first_is_run_as_one
    codec = @registry[Guildhall::JSON.lazy]
    pipeline = @registry[Guildhall::JSON.lazy >> LITERALS.first]
    assert_nil codec.preparer
    refute_equal codec.code.number, pipeline.code.number
  end
end
