# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"

# What reading a task does not show, its first payload on a worker does.
class PoolTrialTest < GuildhallTest
  RATES = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- on purpose

  # Reading does not show which constant it is.
  module Hidden
    def self.call(name) = PoolTrialTest.const_get(:RATES)[name]
  end

  module Where
    def self.call(_payload) = Ractor.current == Ractor.main ? :main : :worker
  end

  # Some of its payloads are good.
  class Sometimes
    def call(name) = name == "bad" ? PoolTrialTest.const_get(:RATES) : name
  end

  def setup
    @pool = Guildhall::Pool.new(workers: 2, logger: @log = Log.new)
  end

  # Keeps what is logged.
  class Log
    attr_reader :lines

    def initialize = @lines = Thread::Queue.new
    %i[debug info warn error fatal].each { |severity| define_method(severity) { |line| @lines << [severity, line] } }
  end

  def teardown
    @pool.shutdown(timeout: 5)
  end

  def test_the_first_payload_runs_on_a_worker
    assert_equal [:worker], @pool.map([1], Where)
    pool = Guildhall::Pool.new(workers: 0)
    assert_equal [:main], pool.map([1], Where)
  end

  def test_what_a_worker_may_not_is_a_failure_reported_once_and_refused_from_then_on
    failures = @pool.results(%w[EUR EUR EUR], Hidden)
    assert_equal %w[Ractor::IsolationError Guildhall::IsolationError], failures.map(&:error_class).uniq.sort.reverse
    modes = [-> { @pool.map(%w[EUR], Hidden) }, -> { Guildhall::Pool.inline { @pool.map(%w[EUR], Hidden) } },
             -> { @pool.dispatch(%w[EUR], Hidden, parallel: false) }, -> { @pool.dispatch(%w[EUR], Hidden, parallel: true) }]
    modes.each do |mode|
      error = assert_raises(Guildhall::IsolationError, &mode)
      assert_match(/Hidden cannot run on workers.*RATES.*trial_test\.rb:\d+/, error.message)
    end
    eventually { !@log.lines.empty? }
    assert_match(/Hidden cannot run on workers, and is refused/, @log.lines.pop.last)
    assert_empty @log.lines
  end

  def test_a_batch_of_refused_code_that_has_not_begun_fails_wherever_it_is_read
    deferred = @pool.dispatch(%w[good good], task = Ractor.make_shareable(Sometimes.new), parallel: false)
    assert_equal %w[good good], @pool.map(%w[good good], task, parallel: true)
    assert_equal "Ractor::IsolationError", @pool.results(%w[bad], task, parallel: true)[0].error_class
    assert_equal ["Guildhall::IsolationError"] * 2, deferred.results.map(&:error_class)
    assert_raises(Guildhall::IsolationError) { @pool.map(%w[good], Ractor.make_shareable(Sometimes.new)) }
  end

  def test_what_is_known_is_kept_by_what_a_task_is_made_of
    wrap = ->(inner) { Guildhall.map(Ractor.make_shareable(inner)) >> Where }
    bad, good = [Hidden, Module.new { def self.call(name) = name }].map(&wrap)
    @pool.results(%w[EUR], bad)
    assert_raises(Guildhall::IsolationError) { @pool.map(%w[EUR], wrap.call(Hidden)) }
    assert_equal [:worker], @pool.map(%w[EUR], good)
  end

  def test_lambdas_of_one_literal_share_what_is_known_and_those_that_capture_other_code_do_not
    task = ->(inner) { nil.instance_exec { ->(name) { inner.call(name) } } }
    @pool.results(%w[EUR], task.call(Hidden))
    assert_raises(Guildhall::IsolationError) { @pool.map(%w[EUR], task.call(Hidden)) }
    assert_equal [:worker], @pool.map(%w[EUR], task.call(Where)) if RUBY_VERSION >= "4"
  end

  def test_literals_take_no_memory
    100.times { @pool.map([1, 2, 3], nil.instance_exec { ->(n) { n + 1 } }) }
    known = @pool.instance_variable_get(:@registry).known
    assert_operator known.size, :<=, 1
  end
end
