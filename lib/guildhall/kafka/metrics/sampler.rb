# frozen_string_literal: true

require "guildhall/clock"
require_relative "partition_gauges"

module Guildhall
  module Kafka
    module Metrics
      # Looks at what has no events: partitions, memory, threads, the pool, the producer, the garbage collector. Used by one thread.
      class Sampler
        # @yieldparam name [String] of a metric
        def initialize(application, &record)
          @application = application
          @record = record
          @of_partitions = PartitionGauges.new(&record)
          @seen = Hash.new(0)
          @lag_known_at = {}
          @collected = [Clock.now, GC.total_time]
        end

        # @param lags [Array<Hash{Symbol=>Object}>] of the event `lag.measured`
        def sample(lags)
          sample_lags(lags)
          sample_group
          sample_partitions
          sample_memory
          sample_threads
          sample_pool
          gauge("producer.queued", @application.producer_queue)
          gauge("gc.share", gc_share)
        end

        private

        def sample_group
          members.group_by(&:group).each do |group, list|
            gauge("members", list.size, {group:})
            gauge("broker.silence_seconds", list.map { |listener| listener.answers.seconds }.min, {group:})
          end
        end

        def members = @application.listeners.reject(&:leaving?)

        # Where it is not known, the last value stays, and its age grows.
        def sample_lags(lags)
          lags.each do |lag|
            lag => {messages:, seconds:}
            place = lag.slice(*PLACE)
            @lag_known_at[place] = Clock.now
            @of_partitions.set(place, {"lag.messages" => messages, "lag.seconds" => seconds})
          end
          @lag_known_at.each { |place, known_at| @of_partitions.set(place, {"lag.age_seconds" => Clock.now - known_at}) }
        end

        def sample_partitions
          partitions = @application.partitions.to_h do |partition|
            [{group: partition.topic.group, topic: partition.name, partition: partition.number}, partition]
          end
          partitions.each do |place, partition|
            keys, messages = partition.parked_keys&.counts
            @of_partitions.set(place, {"parked.keys" => keys, "parked.messages" => messages}) if keys
            next unless partition.topic.dead_letter_queue || partition.forwards?

            @of_partitions.set(place, {"dead_letters.blocked" => partition.blocked ? 1 : 0})
          end
          gone = @of_partitions.reset_all_but(partitions.keys, except: without_assignment)
          @lag_known_at = @lag_known_at.except(*gone)
        end

        # Their partitions were taken away without asking, and nobody knows who has them: they are no one's that would measure them.
        def without_assignment = members.reject(&:assigned?).map(&:group)

        def sample_memory
          gauge("partitions", @application.partitions.size)
          flight = @application.backpressure
          gauge("in_flight.messages", flight.messages)
          gauge("in_flight.bytes", flight.bytes)
        end

        def sample_threads
          gauge("runners.busy", @application.runners.busy)
          gauge("runners.waiting", @application.runners.waiting)
        end

        def sample_pool
          stats = @application.pool_in_use&.stats or return
          gauge("pool.workers", stats[:workers])
          gauge("pool.busy", stats[:busy])
          gauge("pool.queued", stats[:queued])
          gauge("pool.breaker_open", stats[:breaker_open] ? 1 : 0)
          grown("pool.payloads", stats[:inlined], {place: "inline"})
          grown("pool.payloads", stats[:by_workers], {place: "workers"})
          grown("pool.deaths", stats[:deaths], {})
          %w[wait run].each do |what|
            stats[:"#{what}_seconds"].each { |percentile, seconds| gauge("pool.#{what}_seconds", seconds, {percentile:}) if seconds }
          end
        end

        def gauge(name, value, tags = {}) = @record.call(name, value, tags)

        # Adds to the counter what has come since the last time.
        def grown(name, total, tags)
          growth = total - @seen[[name, tags]]
          @seen[[name, tags]] = total
          @record.call(name, growth, tags) if growth >= 0
        end

        def gc_share
          before = @collected
          @collected = [Clock.now, GC.total_time]
          (@collected.last - before.last).fdiv([(@collected.first - before.first) * 1_000_000_000, 1].max)
        end
      end
    end
  end
end
