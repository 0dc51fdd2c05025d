# frozen_string_literal: true

require "test_helper"
require "etc"
require "guildhall/pool"

class PoolSettingsTest < GuildhallTest
  Settings = Guildhall::Pool::Settings

  def test_defaults_are_complete_and_frozen
    settings = Settings.new
    assert_predicate settings, :frozen?
    assert_equal [100_000, :defer, 5, nil, nil], %i[capacity overflow overflow_timeout deadline logger].map { |name| settings.public_send(name) }
    assert_equal Settings.default_workers, settings.workers
  end

  def test_no_workers_is_a_setting_too
    assert_equal 0, Settings.new(workers: 0).workers
  end

  def test_no_more_workers_than_a_process_can_start
    [1025, 10**9].each do |workers|
      error = assert_raises(Guildhall::ConfigurationError) { Settings.new(workers:) }
      assert_equal "pool: workers must be at most 1024, not #{workers}", error.message
    end
  end

  def test_everything_wrong_is_reported_together
    error = assert_raises(Guildhall::ConfigurationError) do
      Settings.new(workers: -1, overflow: :drop, logger: "stderr", overflow_timeout: 0, deadline: -1, deathline: 3)
    end
    assert_equal "pool: workers must be an Integer ≥ 0, or nil, not -1; overflow must be :defer, :wait or :reject, not :drop; " \
                 'logger must be a Logger, or nil, not "stderr"; overflow_timeout must be a finite number > 0 (seconds), not 0; ' \
                 "deadline must be a finite number > 0 (seconds), or nil, not -1; unknown setting deathline; did you mean deadline?", error.message
  end

  # What a pool does after crashes and with stuck workers is the same for all.
  def test_limits_are_no_settings
    error = assert_raises(Guildhall::ConfigurationError) { Settings.new(breaker_deaths: 3, exit_timeout: 2) }
    assert_includes error.message, "unknown setting breaker_deaths"
    assert_equal [2, 10, 10, 30, 1], Guildhall::Pool::Limits.new.deconstruct_keys(nil).values
  end

  FEWEST = RUBY_VERSION < "4" ? 0 : 1 # workers where Ruby has one native thread for Ractors
  UNSET = RUBY_VERSION < "4.1" ? 8 : Etc.nprocessors

  # As Ruby reads it when it starts: the number that it begins with.
  def test_one_worker_a_core_within_what_ruby_runs_at_once
    script = 'require "guildhall/pool"; print [Guildhall.const_get(:NativeThreads)::COUNT, Guildhall::Pool::Settings.default_workers].inspect'
    {nil => UNSET, "" => UNSET, "nonsense" => UNSET, "0" => UNSET, "-3" => UNSET, "0x10" => UNSET, "2" => 2, "1" => 1, "1000" => 1000, "3 cores" => 3,
     " 4" => 4, "1_0" => 1}.each do |limit, threads|
      workers = threads == 1 ? FEWEST : [Etc.nprocessors, RUBY_VERSION < "4.1" ? threads - 1 : threads].min
      assert_equal [threads, workers].inspect, assert_ruby(script, env: {"RUBY_MAX_CPU" => limit}, gems: false), limit.inspect
    end
  end

  ONE_THREAD = {"RUBY_MAX_CPU" => "1"}.freeze
  REASON = "Ruby #{RUBY_VERSION} runs no Ractor beside the main one where RUBY_MAX_CPU is 1".freeze
  ADVICE = "#{REASON}; set RUBY_MAX_CPU to 2 or more, or do not set it".freeze

  def only_on_3_4
    skip "Ruby #{RUBY_VERSION} runs Ractors on one native thread" if RUBY_VERSION >= "4"
  end

  def test_one_native_thread_for_ractors_is_enough_or_callers_do_the_work
    assert_equal "9900 9900\n", assert_ruby(<<~'RUBY', env: ONE_THREAD)
      require "guildhall/pool"
      module Twice; def self.call(number) = number * 2; end
      pool = Guildhall::Pool.new
      print pool.map((0...100).to_a, Twice).sum, " "
      puts pool.dispatch((0...100).to_a, Twice, parallel: true).value(timeout: 60).sum
      pool.shutdown
    RUBY
  end

  def test_workers_that_could_never_run_are_refused
    only_on_3_4
    assert_equal "pool: workers must be 0, not 2: #{ADVICE}\nworkers must be 0, not 3: #{ADVICE}\n0\n0\n", assert_ruby(<<~'RUBY', env: ONE_THREAD)
      require "guildhall/pool"
      begin
        Guildhall::Pool.new(workers: 2)
      rescue Guildhall::ConfigurationError => error
        puts error.message
      end
      begin
        Guildhall.pool.resize(3)
      rescue Guildhall::ArgumentError => error
        puts error.message
      end
      puts Guildhall::Pool.new(workers: 0).settings.workers, Guildhall.pool.resize(0).settings.workers
    RUBY
  end

  def test_the_report_and_guildhall_info_say_why_there_are_none
    only_on_3_4
    report = assert_ruby('require "guildhall/pool"; puts Guildhall.pool.report', env: ONE_THREAD)
    assert_includes report.lines.first, "0 workers (#{REASON}), "
    info = assert_ruby('require "guildhall/cli"; exit Guildhall::CLI.new.run(%w[info])', env: ONE_THREAD)
    assert_match(/^RUBY_MAX_CPU +1$/, info)
    assert_match(/^worker Ractors +none: #{Regexp.escape(ADVICE)}$/, info)
  end

  def test_what_needs_a_ractor_says_so_instead_of_waiting_for_ever
    only_on_3_4
    assert_equal "#{ADVICE}\n" * 2, assert_ruby(<<~'RUBY', env: ONE_THREAD)
      require "guildhall/advisor"
      require "guildhall/doctor"
      module Twice; def self.call(text) = text * 2; end
      [-> { Guildhall::Advisor.new(Twice, ["a"]) }, -> { Guildhall::Doctor.new(Twice, payloads: ["a"]).examine }].each do |attempt|
        attempt.call
      rescue Guildhall::ConfigurationError => error
        puts error.message
      end
    RUBY
  end
end
