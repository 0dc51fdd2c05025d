# frozen_string_literal: true

require "weakref"

module Guildhall
  module Karafka
    # Listens to Karafka's events, and gives batches that were fetched to the topics' deserializers. One of a process.
    # @api private
    class Plugin
      EVENTS = {"connection.listener.fetch_loop.received" => :fetched, "rebalance.partitions_revoked" => :revoked,
                "app.stopped" => :stopped}.freeze
      EXIT_SECONDS = 1 # for workers of the plug-in's own pool
      private_constant :EVENTS, :EXIT_SECONDS

      # @return [Settings] frozen
      attr_reader :settings

      def initialize
        @settings = Settings.new.freeze
        @lock = Mutex.new
        @subscription = @pool = @monitor = nil # @monitor: the last one that was to be subscribed to
        @needed = false
        @futures = {} # of each partition's last batch, weakly: results go with the messages. Earlier batches are not read any more
        @counts = {dispatched: 0, taken: 0, in_place: 0, replaced: 0}
      end

      # @param settings [Settings] frozen
      def settings=(settings)
        close_pool { change(settings) }
        settings.enabled ? (subscribe if @needed) : unsubscribe
      end

      # Once to each of Karafka's monitors: its set-up may replace the one that there was.
      # @raise [ConfigurationError] for a monitor whose events cannot be subscribed to
      def subscribe
        @needed = true
        @lock.synchronize do
          monitor = ::Karafka.monitor
          next if !@settings.enabled || monitor.equal?(@subscription&.monitor)

          end_subscription
          @monitor = monitor
          @subscription = Subscription.new(monitor, EVENTS.transform_values { |method| guarded(method) })
        end
      end

      # Subscribes to a monitor that has come since. Once: consumers must not fail, or take longer, for one that cannot be subscribed to.
      def follow_monitor
        subscribe if @settings.enabled && !::Karafka.monitor.equal?(@monitor)
      rescue ConfigurationError => error
        Guildhall.logger.warn("guildhall: #{error.message}") # such a monitor would not pass it on
      end

      def pool
        settings = @settings
        settings.pool || (settings.concurrency ? own_pool : Guildhall.pool)
      end

      def stats = @counts.dup

      # @param name [Symbol] of {#stats}
      def count(name, payloads = 1)
        @counts[name] += payloads
      end

      private

      def unsubscribe
        @lock.synchronize { end_subscription }
      end

      def end_subscription
        @subscription&.end
        @subscription = nil
      end

      # What goes wrong here must not stop Karafka's listener: payloads are decoded in place then.
      def guarded(method)
        proc do |event|
          next unless @settings.enabled

          # Karafka's own events make a Hash for `payload`, which costs more than all else here.
          send(method, event.respond_to?(:[]) ? event : event.payload)
        rescue StandardError => error
          report(error)
        end
      end

      def report(error)
        ::Karafka.monitor.instrument("error.occurred", caller: self, error:, type: "guildhall.karafka.error")
      end

      # @param event [#[]] as are those below
      def fetched(event)
        reported = nil
        event[:messages_buffer].each do |topic, partition, messages|
          next if messages.empty?

          deserializer = messages.first.metadata.deserializers.payload
          next unless deserializer.is_a?(Deserializer)

          dispatch(deserializer, messages, "#{event[:subscription_group].id}/#{topic}/#{partition}")
        rescue StandardError => error # other topics' batches go on
          report(error) unless error.message == reported
          reported = error.message
        end
      end

      # A partition's batch before this one has been dealt with, or will never be: what workers have not begun is cancelled.
      def dispatch(deserializer, messages, source)
        cancel(source)
        future = deserializer.dispatch(messages, source) or return
        @futures[source] = WeakRef.new(future)
        count(:dispatched, future.size)
      end

      def cancel(source)
        @futures.delete(source)&.cancel
      rescue WeakRef::RefError # nobody is left who could read it
        nil
      end

      def revoked(event)
        event[:tpl].to_h.each do |topic, partitions|
          partitions&.each { |one| cancel("#{event[:subscription_group].id}/#{topic}/#{one.partition}") }
        end
      end

      # An embedded Karafka may start again later.
      def stopped(_event)
        @futures.each_key.to_a.each { |source| cancel(source) }
        close_pool
      end

      # The settings may just have changed.
      def own_pool
        @lock.synchronize { @pool ||= @settings.concurrency && Pool.new(workers: @settings.concurrency) } || pool
      end

      # @return [Boolean] whether a pool of its own has to go: the next batch makes another one
      def change(settings)
        before = @settings
        @settings = settings
        settings.concurrency != before.concurrency
      end

      # @yieldreturn [Boolean] whether it is to be closed
      def close_pool
        pool = @lock.synchronize { @pool.tap { @pool = nil } if !block_given? || yield }
        pool&.shutdown(timeout: EXIT_SECONDS)
      end
    end
  end
end
