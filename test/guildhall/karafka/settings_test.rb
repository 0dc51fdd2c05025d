# frozen_string_literal: true

require "test_helper"
require "guildhall/karafka"

module Guildhall
  module Karafka
    class SettingsTest < GuildhallTest
      def teardown
        Karafka.setup
        super
      end

      def test_defaults
        assert_equal [true, nil, 10, nil, 30, nil],
          %i[enabled concurrency min_payloads parallel deadline pool].map { |name| Karafka.setup.public_send(name) }
      end

      def test_are_frozen
        assert_predicate Karafka.setup { |config| config.concurrency = 2 }, :frozen?
        assert_equal 2, Karafka.config.concurrency
      end

      def test_another_set_up_begins_with_the_defaults
        Karafka.setup { |config| config.min_payloads = 70 }
        Karafka.setup { |config| config.parallel = true }
        assert_equal 10, Karafka.config.min_payloads
      end

      def test_everything_wrong_is_reported_together
        error = assert_raises(ConfigurationError) do
          Karafka.setup do |config|
            config.concurency = 4
            config.min_payloads = 0
            config.deadline = -1
            config.parallel = :yes
            config.enabled = nil
          end
        end
        assert_match(/unknown setting concurency; did you mean concurrency\?/, error.message)
        ["min_payloads must be an Integer ≥ 1, not 0", "deadline must be a finite number > 0 (seconds), or nil, not -1",
         "parallel must be true, false or nil, not :yes", "enabled must be true or false, not nil"].each { |text| assert_includes error.message, text }
      end

      def test_what_is_wrong_changes_nothing
        Karafka.setup { |config| config.min_payloads = 70 }
        assert_raises(ConfigurationError) { Karafka.setup { |config| config.concurrency = 0 } }
        assert_equal 70, Karafka.config.min_payloads
      end

      def test_a_pool_brings_its_own_workers
        error = assert_raises(ConfigurationError) do
          Karafka.setup do |config|
            config.pool = Guildhall.pool
            config.concurrency = 2
          end
        end
        assert_includes error.message, "set concurrency or pool, not both"
      end

      def test_pool
        assert_same Guildhall.pool, Karafka.pool
        Karafka.setup { |config| config.concurrency = 3 }
        own = Karafka.pool
        assert_equal 3, own.settings.workers
        Karafka.setup { |config| config.concurrency = 1 }
        assert_equal 1, Karafka.pool.settings.workers
        assert_raises(PoolClosedError) { own.dispatch([], Guildhall::JSON) }
      end

      def test_unknown_methods_raise_as_ever
        assert_raises(NoMethodError) { Settings.new.concurency }
      end
    end
  end
end
