# frozen_string_literal: true

module Guildhall
  class Pool
    # What a pool is doing and has done, as a Hash of plain numbers: one look, without stopping anybody.
    class Statistics
      SHARES = {p50: 0.5, p90: 0.9, p99: 0.99}.freeze

      # @param supervisor [Supervisor]
      # @param began [Float] when the pool was made, on the monotonic clock
      # @param collecting [Integer] nanoseconds the garbage collector had spent by then
      def initialize(supervisor, began, collecting)
        @worker_set = supervisor.worker_set
        @supervisor = supervisor
        @began = began
        @collecting = collecting
      end

      # @return [Hash{Symbol=>Object}]
      def to_h
        slots = @worker_set.handles.map(&:slot)
        {workers: @worker_set.queue.worker_count, busy: slots.count(&:busy?), abandoned: @worker_set.abandoned.size,
         deaths: @supervisor.deaths, breaker_open: @supervisor.circuit_breaker.open?, **line, **done,
         wait_seconds: quantiles(:wait_quantile), run_seconds: quantiles(:run_quantile), by_worker:, gc_share:}
      end

      private

      def line
        queue = @worker_set.queue
        named, anonymous = queue.depths.partition(&:first)
        {queued: queue.payloads, batches: queue.batches, saturated: queue.saturated?,
         by_source: named.to_h.merge(anonymous.empty? ? {} : {nil => anonymous.sum(&:last)})}
      end

      def done
        inlined, by_workers, late = @worker_set.queue.counts
        all = inlined + by_workers
        {inlined:, by_workers:, inlined_share: all.zero? ? 0.0 : inlined.fdiv(all), late_results: late}
      end

      def quantiles(which)
        SHARES.transform_values { |share| @worker_set.queue.public_send(which, share) }
      end

      # Those of workers that have exited are kept as a sum.
      def by_worker
        counts = [*@worker_set.handles, *@worker_set.abandoned].to_h { |handle| [handle.number, handle.slot.counts] }
        exited = @worker_set.counts_of_exited
        counts[:exited] = exited if exited.first.positive?
        counts.transform_values { |slices, payloads, failures, busy_seconds| {slices:, payloads:, failures:, busy_seconds:} }
      end

      # Of the time since the pool was made.
      def gc_share
        (GC.total_time - @collecting).fdiv((Clock.now - @began) * 1_000_000_000)
      end
    end
  end
end
