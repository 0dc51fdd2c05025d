# frozen_string_literal: true

require "guildhall/clock"
require_relative "../metrics"

module Guildhall
  module Kafka
    module Metrics
      # Measures what has no events: partitions, memory, threads, the pool, the producer, the garbage collector. Used by one thread.
      class Sampler
        # @yieldparam name [String] of a metric, with its value and tags
        def initialize(application, &record)
          @application = application
          @record = record
          @set = {} # by the place of a partition the names of the gauges that were set for it
          @lag_known_at = {}
          @totals = Hash.new(0)
          @collected = [Clock.now, GC.total_time]
        end

        # @param lags [Array<Hash{Symbol=>Object}>] of the event `lag.measured`
        def sample(lags)
          listeners = @application.listeners.reject(&:leaving?)
          sample_lags(lags)
          sample_groups(listeners)
          sample_partitions(listeners)
          sample_process
          sample_pool
        end

        private

        # Where the lag is not known, the last value stays, and its age grows: else an alert on lag would end as soon as an outage begins.
        def sample_lags(lags)
          lags.each do |lag|
            place = lag.slice(*PLACE)
            @lag_known_at[place] = Clock.now
            set(place, "lag.messages" => lag.fetch(:messages), "lag.seconds" => lag.fetch(:seconds))
          end
          @lag_known_at.each { |place, known_at| set(place, "lag.age_seconds" => Clock.now - known_at) }
        end

        def sample_groups(listeners)
          listeners.group_by(&:group).each do |group, of_group|
            gauge("members", of_group.size, {group:})
            gauge("broker.silence_seconds", of_group.map { |listener| listener.answers.seconds }.min, {group:})
          end
        end

        def sample_partitions(listeners)
          assigned = @application.partitions.map do |partition|
            place = {group: partition.topic.group, topic: partition.name, partition: partition.number}
            keys, messages = partition.parked_keys&.counts
            set(place, "parked.keys" => keys, "parked.messages" => messages) if keys
            sends = partition.topic.dead_letter_queue || partition.outbox.used?
            set(place, "dead_letters.blocked" => partition.blocked ? 1 : 0) if sends
            place
          end
          gauge("partitions", assigned.size)
          reset_gone(assigned, listeners)
        end

        def set(place, values)
          @set[place] = [*@set[place], *values.keys].uniq
          values.each { |name, value| gauge(name, value, place) }
        end

        # A gauge keeps its last value in Prometheus and OpenTelemetry. It becomes 0 here once the partition belongs to another process, so
        # that a sum over all processes counts it once. Partitions that a group has lost without being asked keep their gauges until the
        # group has partitions again: until then, no other process may be measuring them.
        def reset_gone(assigned, listeners)
          lost = listeners.reject(&:assigned?).map(&:group)
          gone = @set.keys.reject { |place| assigned.include?(place) || lost.include?(place[:group]) }
          gone.each do |place|
            @set.delete(place).each { |name| gauge(name, 0, place) }
            @lag_known_at.delete(place)
          end
        end

        def sample_process
          flight = @application.backpressure
          gauge("in_flight.messages", flight.messages)
          gauge("in_flight.bytes", flight.bytes)
          gauge("runners.busy", @application.runners.busy)
          gauge("runners.waiting", @application.runners.waiting)
          gauge("producer.queued", @application.producer_queue)
          before = @collected
          @collected = [Clock.now, GC.total_time] # seconds, nanoseconds
          gauge("gc.share", (@collected.last - before.last).fdiv([(@collected.first - before.first) * 1_000_000_000, 1].max))
        end

        def sample_pool
          stats = @application.pool_in_use&.stats or return
          gauge("pool.workers", stats[:workers])
          gauge("pool.busy", stats[:busy])
          gauge("pool.queued", stats[:queued])
          gauge("pool.breaker_open", stats[:breaker_open] ? 1 : 0)
          count("pool.payloads", stats[:inlined], {place: "inline"})
          count("pool.payloads", stats[:by_workers], {place: "workers"})
          count("pool.deaths", stats[:deaths])
          %w[wait run].each do |what|
            stats[:"#{what}_seconds"].each { |percentile, seconds| gauge("pool.#{what}_seconds", seconds, {percentile:}) if seconds }
          end
        end

        def gauge(name, value, tags = {}) = @record.call(name, value, tags)

        # Adds to the counter what has come since the last sample. Negative where another pool has taken the place of the first.
        def count(name, total, tags = {})
          growth = total - @totals[[name, tags]]
          @totals[[name, tags]] = total
          @record.call(name, growth, tags) if growth >= 0
        end
      end
    end
  end
end
