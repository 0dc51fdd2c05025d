# frozen_string_literal: true

module Guildhall
  class Pool
    # What a pool is doing and has done, as a Hash of plain numbers: one look, without stopping anybody.
    module Statistics
      SHARES = {p50: 0.5, p90: 0.9, p99: 0.99}.freeze
      private_constant :SHARES

      class << self
        def of(supervisor)
          set = supervisor.worker_set
          {workers: set.queue.worker_count, busy: set.handles.count { |handle| handle.slot.busy? }, abandoned: set.abandoned.size,
           deaths: supervisor.deaths, breaker_open: supervisor.circuit_breaker.open?, **line(set.queue), **done(*set.queue.counts),
           wait_seconds: SHARES.transform_values { |share| set.queue.wait_quantile(share) },
           run_seconds: SHARES.transform_values { |share| set.queue.run_quantile(share) }, by_worker: by_worker(set)}
        end

        private

        def line(queue)
          named, anonymous = queue.depths.partition(&:first)
          {queued: queue.payloads, batches: queue.batches, saturated: queue.saturated?,
           by_source: named.to_h.merge(anonymous.empty? ? {} : {nil => anonymous.sum(&:last)})}
        end

        def done(inlined, by_workers, late)
          all = inlined + by_workers
          {inlined:, by_workers:, inlined_share: all.zero? ? 0.0 : inlined.fdiv(all), late_results: late}
        end

        # Those of workers that have exited are kept as a sum.
        def by_worker(set)
          counts = [*set.handles, *set.abandoned].to_h { |handle| [handle.number, handle.slot.counts] }
          counts[:exited] = set.counts_of_exited if set.counts_of_exited.first.positive?
          counts.transform_values { |slices, payloads, failures, busy_seconds| {slices:, payloads:, failures:, busy_seconds:} }
        end
      end
    end
  end
end
