# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/pipeline"
require_relative "../reminders"

module Guildhall
  module Kafka
    module Connection
      # The schema registries that the codecs of an application's routes ask. What keeps one from answering becomes the events
      # `schema_registry.unreachable` (once, and again as reminders with growing pauses) and `schema_registry.reachable`, as with brokers
      # ({Reachability}). Nothing is asked of a registry here: it remembers what its last requests have met.
      class Registries
        LOOK_SECONDS = 1
        Known = Struct.new(:latest, :reminders)
        private_constant :Known

        # @yieldparam name [String] of an event
        def initialize(topics, clock: Clock, &publish)
          @registries = topics.flat_map { |topic| [topic.deserializer, topic.key_deserializer, topic.serializer] }.uniq
            .flat_map { |task| of(task) }.uniq(&:object_id)
          @clock = clock
          @publish = publish
          @known = {}.compare_by_identity
        end

        def any? = @registries.any?

        # Called from time to time by one thread.
        def look
          @registries.each { |registry| (outage = registry.outage) ? unreachable(registry, outage) : reachable(registry) }
        end

        # What keeps the application from being ready. Any thread may call it.
        def problems
          @registries.filter_map do |registry|
            outage = registry.outage
            "schema registry #{registry.url}: #{reason(registry, outage)}, for #{outage.seconds.round} s" if outage
          end
        end

        private

        def of(task)
          parts = task.is_a?(Pipeline) ? [*task.decoder, *task.stages.map(&:callable)] : [task]
          parts.filter_map { |part| part.registry if part.respond_to?(:registry) }.select { |registry| registry.respond_to?(:outage) }
        end

        def unreachable(registry, outage)
          known = @known[registry] ||= Known.new(nil, Reminders.new)
          known.latest = outage
          return unless known.reminders.due?(outage.status, @clock.now)

          @publish.call("schema_registry.unreachable", registry: registry.url, reason: reason(registry, outage), seconds: outage.seconds,
            reminder: known.reminders.announce)
        end

        # Most reasons begin with the registry's URL, which the event and the line of `/ready` name already.
        def reason(registry, outage) = outage.reason.delete_prefix("#{registry.url} ")

        # An outage that is over because nothing was asked for long was not ended by an answer.
        def reachable(registry)
          outage = @known.delete(registry)&.latest or return
          return if outage.forgotten?

          @publish.call("schema_registry.reachable", registry: registry.url, seconds: outage.seconds)
        end
      end
    end
  end
end
