# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Metrics
      # Looks at what has no events: partitions, memory, threads, the pool, the producer, the garbage collector. Used by one thread.
      class Sampler
        # @param application [Application]
        # @yieldparam name [String] of a metric
        # @yieldparam value [Numeric]
        # @yieldparam tags [Hash{Symbol=>Object}]
        def initialize(application, &record)
          @application = application
          @record = record
          @seen = Hash.new(0)
          @collected = [Clock.now, GC.total_time]
        end

        # @return [void]
        def sample
          sample_group
          sample_parked
          sample_memory
          sample_threads
          sample_pool
          gauge("producer.queued", @application.producer_queue)
          gauge("gc.share", gc_share)
        end

        private

        def sample_group
          @application.listeners.reject(&:leaving?).group_by(&:group).each { |group, list| gauge("members", list.size, {group:}) }
        end

        def sample_parked
          @application.partitions.each do |partition|
            keys, messages = partition.parked_keys&.counts
            next unless keys

            place = {group: partition.topic.group, topic: partition.name, partition: partition.number}
            gauge("parked.keys", keys, place)
            gauge("parked.messages", messages, place)
          end
        end

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

        # Counters are told what has come since the last time.
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
