# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolSettingsTest < GuildhallTest
  Settings = Guildhall::Pool::Settings

  def test_defaults_are_complete_and_frozen
    settings = Settings.new
    assert_predicate settings, :frozen?
    assert_equal [100_000, :defer, 5, nil, 2, 10, 1],
      %i[capacity overflow overflow_timeout parallel max_abandoned breaker_deaths exit_timeout].map { |name| settings.public_send(name) }
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
      Settings.new(workers: -1, overflow: :drop, logger: "stderr", breaker_window: 0, exit_timeout: -1, deathline: 3)
    end
    assert_equal "pool: workers must be an Integer ≥ 0, or nil, not -1; overflow must be :defer, :wait or :reject, not :drop; " \
                 'logger must be a Logger, or nil, not "stderr"; breaker_window must be a finite number > 0 (seconds), not 0; ' \
                 "exit_timeout must be a finite number ≥ 0 (seconds), not -1; unknown setting deathline; did you mean deadline?", error.message
  end

  def test_one_worker_a_core_within_what_ruby_runs_at_once
    script = 'require "guildhall/pool"; require "etc"; print [Etc.nprocessors, Guildhall::Pool::Settings.default_workers].inspect'
    {"2" => 1, "1" => 1, "nonsense" => 7, "1000" => 999}.each do |limit, most|
      cores, workers = assert_ruby("ENV['RUBY_MAX_CPU'] = #{limit.dump}; #{script}").scan(/\d+/).map(&:to_i)
      assert_equal [cores, most].min, workers, limit
    end
  end
end
