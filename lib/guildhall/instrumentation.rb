# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # Events of one pool or one Kafka application, for whoever listens. Used in the main Ractor, from any thread.
  # Publishing costs one comparison while nobody listens.
  class Instrumentation
    # What a subscriber gets.
    Event = Data.define(:name, :payload, :time)

    # @param events [Array<String>] the names that can be subscribed to and published
    def initialize(events)
      @events = events.to_h { |name| [name, true] }.freeze
      @lock = Mutex.new
      @subscribers = [].freeze
    end

    # @param names [Array<String>] none: all events
    # @yieldparam event [Event]
    # @return [Object] a token for {#unsubscribe}
    # @raise [Guildhall::ArgumentError] for a name that is never published
    def subscribe(*names, &listener)
      unknown = names.reject { |name| @events.key?(name) }
      raise Guildhall::ArgumentError, "no such event: #{unknown.join(", ")}; there are #{@events.keys.join(", ")}" if unknown.any?

      subscriber = [names.freeze, listener].freeze
      @lock.synchronize { @subscribers = [*@subscribers, subscriber].freeze }
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
    # @return [void]
    def unsubscribe(token)
      @lock.synchronize { @subscribers = @subscribers.reject { |subscriber| subscriber.equal?(token) }.freeze }
    end

    # @return [Boolean] whether anybody listens; lets a caller skip building a payload
    def listening?
      !@subscribers.empty?
    end

    # Calls the subscribers one after the other, in this thread. What one of them raises is reported with `warn`
    # and harms neither the others nor the publisher.
    # @param name [String]
    # @param payload [Hash{Symbol=>Object}]
    # @return [void]
    def publish(name, **payload)
      subscribers = @subscribers
      return if subscribers.empty?

      event = Event.new(name:, payload: payload.freeze, time: Process.clock_gettime(Process::CLOCK_REALTIME))
      subscribers.each { |names, listener| deliver(listener, event) if names.empty? || names.include?(name) }
    end

    private

    def deliver(listener, event)
      listener.call(event)
    rescue StandardError => error
      warn("guildhall: a subscriber of #{event.name} raised #{error.class}: #{error.message} (#{error.backtrace&.first})")
    end
  end
end
