# frozen_string_literal: true

require_relative "errors"
require_relative "error_boundary"
require_relative "signal_trap"

module Guildhall
  # Events of one pool or one Kafka application, for subscribers. Used in the main Ractor, from any thread.
  # What nobody listens to costs a look into a Hash.
  class Instrumentation
    # What a subscriber gets.
    Event = Data.define(:name, :payload, :time)

    # @param events [Array<String>] the names that can be subscribed to and published
    # @yieldparam message [String] that a subscriber raised; without a block it goes to standard error
    def initialize(events, &report)
      @events = events.to_h { |name| [name, true] }.freeze
      @report = report || ->(message) { warn("guildhall: #{message}") }
      @lock = Mutex.new
      replace([])
      @raised = Hash.new(0)
    end

    # @param names [Array<String>] none: all events
    # @return [Object] a token for {#unsubscribe}
    # @raise [Guildhall::ArgumentError] for a name that is never published
    def subscribe(*names, &listener)
      unknown = names.reject { |name| @events.key?(name) }
      raise Guildhall::ArgumentError, "no such event: #{unknown.join(", ")}; there are #{@events.keys.join(", ")}" if unknown.any?

      SignalTrap.refuse!
      subscriber = [names.freeze, listener].freeze
      @lock.synchronize { replace([*@subscribers, subscriber]) }
      subscriber
    end

    # Passes all events on to ActiveSupport::Notifications: `pool.worker_died` as "worker_died.pool.guildhall", with the
    # same payload. They are then published whether or not anybody listens there.
    # @return [Object] a token for {#unsubscribe}
    # @raise [MissingDependencyError] where there is no ActiveSupport
    def bridge
      require_relative "soft_dependency"
      SoftDependency.require!("active_support/notifications", gem: "activesupport", purpose: "Instrumentation#bridge")
      names = @events.keys.to_h { |name| [name, [*name.split(".").reverse, "guildhall"].join(".").freeze] }
      subscribe { |event| ::ActiveSupport::Notifications.instrument(names.fetch(event.name), event.payload.dup) }
    end

    # @param token [Object] what {#subscribe} returned
    def unsubscribe(token)
      SignalTrap.refuse!
      @lock.synchronize do
        replace(@subscribers.reject { |subscriber| subscriber.equal?(token) })
        @raised.delete_if { |(listener, *), _| listener.equal?(token.last) }
      end
    end

    # @param name [String, nil] an event; nil: any
    # @return [Boolean] whether anybody listens; lets a caller skip building a payload
    def listening?(name = nil)
      name ? @listeners.key?(name) : !@listeners.empty?
    end

    # Calls the subscribers one after the other, in this thread. An error of a subscriber harms neither the others nor the
    # publisher: it is reported the first time, and then the 10th, 100th, … time that the same subscriber raises it.
    def publish(name, **payload)
      listeners = @listeners[name] or return

      event = Event.new(name:, payload: payload.freeze, time: Process.clock_gettime(Process::CLOCK_REALTIME))
      listeners.each { |listener| deliver(listener, event) }
      nil
    end

    # Runs what a subscriber does with events later: what it raises is contained and reported as by {#publish}.
    # @param listener [Object] the subscriber, or whom it works for
    # @param name [String] of what it has subscribed to
    # @return [Object, nil] what the block returns; nil: it has raised
    def contain(listener, name, &)
      ErrorBoundary.run(->(error) { subscriber_raised(listener, name, error) }, &)
    end

    private

    # Publishing asks for an event's own listeners, however many there are of others.
    def replace(subscribers)
      @subscribers = subscribers
      @listeners = @events.keys.filter_map do |event|
        listeners = subscribers.filter_map { |names, listener| listener if names.empty? || names.include?(event) }
        [event, listeners] if listeners.any?
      end.to_h.freeze
    end

    def deliver(listener, event)
      contain(listener, event.name) { listener.call(event) }
    end

    def subscriber_raised(listener, name, error)
      times = @lock.synchronize { @raised[[listener, name, error.class]] += 1 }
      return unless times.to_s.match?(/\A10*\z/)

      again = " (#{times} times so far)" if times > 1
      @report.call("a subscriber of #{name} raised #{error.class}: #{ErrorBoundary.message(error)} (#{error.backtrace&.first})#{again}")
    end
  end
end
