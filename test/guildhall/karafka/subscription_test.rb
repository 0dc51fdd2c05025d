# frozen_string_literal: true

require "test_helper"
require "active_support"
require "active_support/notifications"
require "karafka"
require "guildhall/karafka"
require_relative "../../support/karafka_buses"

module Guildhall
  module Karafka
    class SubscriptionTest < GuildhallTest
      EVENT = "connection.listener.fetch_loop.received"
      ENDED = "app.stopped"

      def test_karafkas_own_bus
        assert_hears(::Karafka::Instrumentation::Monitor.new)
      end

      def test_active_support
        assert_hears(::Karafka::Instrumentation::Monitor.new(ActiveSupport::Notifications))
      end

      def test_active_support_with_a_namespace
        %w[karafka kafka.karafka].each { |namespace| assert_hears(::Karafka::Instrumentation::Monitor.new(ActiveSupport::Notifications, namespace)) }
      end

      def test_a_bus_of_karafkas_kind_with_a_namespace
        bus = ::Karafka::Core::Monitoring::Notifications.new
        [EVENT, ENDED].each { |event| bus.register_event("#{event}.app") }
        assert_hears(::Karafka::Instrumentation::Monitor.new(bus, "app"))
      end

      def test_a_bus_that_passes_nothing_on_is_refused
        error = assert_raises(ConfigurationError) { subscribe(::Karafka::Instrumentation::Monitor.new(KarafkaBuses::Silent), []) }
        assert_match(/Silent, does not pass events on .* config.monitor = Karafka::Instrumentation::Monitor.new/, error.message)
      end

      def test_a_bus_that_does_not_know_the_events_is_refused
        bus = ::Karafka::Core::Monitoring::Notifications.new
        assert_raises(ConfigurationError) { subscribe(::Karafka::Instrumentation::Monitor.new(bus), []) }
      end

      def test_a_bus_that_knows_some_of_the_events_is_left_as_it_was
        bus = ::Karafka::Core::Monitoring::Notifications.new.tap { |one| one.register_event(EVENT) }
        assert_raises(ConfigurationError) { subscribe(::Karafka::Instrumentation::Monitor.new(bus), []) }
        assert_empty bus.listeners.fetch(EVENT)
      end

      private

      def subscribe(monitor, heard)
        Subscription.new(monitor, [EVENT, ENDED].to_h { |event| [event, proc { |one| heard << [event, one.payload[:number]] }] })
      end

      def assert_hears(monitor)
        heard = []
        subscription = subscribe(monitor, heard)
        assert_same monitor, subscription.monitor
        monitor.instrument(EVENT, {number: 1}) { 7 }
        monitor.instrument(ENDED, {number: 2})
        subscription.end
        monitor.instrument(EVENT, {number: 3})
        assert_equal [[EVENT, 1], [ENDED, 2]], heard
      end
    end
  end
end
