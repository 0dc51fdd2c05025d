# frozen_string_literal: true

module Guildhall
  module Karafka
    # Subscribes to events of one of Karafka's monitors, whatever bus it publishes them on: Karafka's own, or
    # ActiveSupport::Notifications, where their names may end in a namespace.
    class Subscription
      PROBE = "subscribed.guildhall.karafka"
      private_constant :PROBE

      attr_reader :monitor

      # @param handlers [Hash{String=>Proc}] by event; each takes one that has a `payload`
      # @raise [ConfigurationError] for a monitor whose events do not reach those who subscribe
      def initialize(monitor, handlers)
        @monitor = monitor
        @bus = monitor.respond_to?(:notifications_bus) ? monitor.notifications_bus : monitor
        names = handlers.transform_keys { |event| full_name(event) } # all of them, before one is subscribed to
        @subscribers = names.map { |name, handler| subscribe(name, handler) }
      end

      def end
        @subscribers.each { |subscriber| @monitor.unsubscribe(subscriber) }
      end

      private

      # @return [Object] what `unsubscribe` takes
      def subscribe(name, handler)
        subscriber = @monitor.subscribe(name, &handler)
        lists? ? handler : subscriber
      end

      # Whether the bus is of Karafka's own kind, which knows all events beforehand.
      def lists? = @bus.respond_to?(:listeners)

      def full_name(event)
        return "#{event}#{ending}" unless lists?

        @bus.listeners.keys.find { |name| name == event || name.start_with?("#{event}.") } || refuse("knows no event #{event}")
      end

      # The monitor does not say its namespace: an event of our own shows what becomes of a name.
      def ending
        @ending ||= begin
          found = nil
          probe = @bus.subscribe(/\A#{Regexp.escape(PROBE)}/) { |name, *| found = name.delete_prefix(PROBE) }
          @monitor.instrument(PROBE)
          @bus.unsubscribe(probe)
          found || refuse("does not pass events on to its subscribers")
        end
      end

      def refuse(reason)
        raise ConfigurationError, "Guildhall::Karafka: the monitor's bus, #{@bus.inspect}, #{reason}; in Karafka's setup make it " \
                                  "config.monitor = Karafka::Instrumentation::Monitor.new, or one with ActiveSupport::Notifications"
      end
    end
    private_constant :Subscription
  end
end
