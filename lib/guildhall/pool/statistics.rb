# frozen_string_literal: true

module Guildhall
  class Pool
    # What a pool is doing and has done, as a Hash of plain numbers: one look, without stopping anybody.
    class Statistics
      SHARES = {p50: 0.5, p90: 0.9, p99: 0.99}.freeze

      # @param coordinator [Coordinator]
      # @param began [Float] when the pool was made, on the monotonic clock
      # @param collecting [Integer] nanoseconds the garbage collector had spent by then
      def initialize(coordinator, began, collecting)
        @crew = coordinator.crew
        @coordinator = coordinator
        @began = began
        @collecting = collecting
      end

      # @return [Hash{Symbol=>Object}]
      def to_h
        seats = @crew.members.map(&:seat)
        {workers: @crew.queue.seated, busy: seats.count(&:busy?), abandoned: @crew.abandoned.size,
         breaker_open: @coordinator.breaker.open?, **line, **done, wait_seconds: quantiles(:wait_quantile),
         run_seconds: quantiles(:run_quantile), by_worker:, gc_share:}
      end

      private

      def line
        queue = @crew.queue
        named, anonymous = queue.depths.partition(&:first)
        {queued: queue.payloads, batches: queue.batches, saturated: queue.saturated?,
         by_source: named.to_h.merge(anonymous.empty? ? {} : {nil => anonymous.sum(&:last)})}
      end

      def done
        inlined, by_workers, late = @crew.queue.counts
        all = inlined + by_workers
        {inlined:, by_workers:, inlined_share: all.zero? ? 0.0 : inlined.fdiv(all), late_results: late}
      end

      def quantiles(which)
        SHARES.transform_values { |share| @crew.queue.public_send(which, share) }
      end

      def by_worker
        @crew.members.to_h do |member|
          slices, payloads, failures, busy = member.seat.counts
          [member.number, {slices:, payloads:, failures:, busy_seconds: busy}]
        end
      end

      # Of the time since the pool was made.
      def gc_share
        (GC.total_time - @collecting).fdiv((Clock.now - @began) * 1_000_000_000)
      end
    end
  end
end
