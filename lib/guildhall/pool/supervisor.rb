# frozen_string_literal: true

module Guildhall
  class Pool
    # Supervises the workers of a pool in a thread of its own. It sleeps until it is summoned: by a worker that leaves, by a
    # batch with a deadline or a listener, by a line of the log. No payload and no result waits for it, and if it is killed
    # the next reader that waits starts it again.
    # @api private
    class Supervisor
      SHORTEST_PAUSE_SECONDS = 0.002
      LAST_LOOK_SECONDS = 0.1
      QUANTILES = {p50: 0.5, p90: 0.9, p99: 0.99}.freeze
      private_constant :SHORTEST_PAUSE_SECONDS, :LAST_LOOK_SECONDS, :QUANTILES

      # `workers`: how many there should be; `deaths`: how many have died; `closing`: whether they are to end.
      attr_reader :worker_set, :circuit_breaker, :workers, :deaths, :closing

      def initialize(settings, limits, instrumentation, notifier)
        @settings = settings
        @limits = limits
        @instrumentation = instrumentation
        @notifier = notifier
        @log = Log.new
        @worker_set = WorkerSet.new(settings.capacity, @log)
        @deaths = 0
        @circuit_breaker = CircuitBreaker.new(deaths: limits.breaker_deaths, window: limits.breaker_window, pause: limits.breaker_pause)
        @workers = settings.workers
        @closing = @started = false
        @lock = Mutex.new
      end

      # Whether there are or may be workers.
      def any_workers?
        @workers.positive? && !@circuit_breaker.open? && @worker_set.abandoned.size < @limits.max_abandoned + @workers
      end

      # Whether it was stopped, and no worker is left.
      def ended?
        @closing && @worker_set.queue.worker_count.zero?
      end

      # Starts workers and thread where they are missing. Cheap where they are not; called at every parallel dispatch. A trap
      # cannot lock, and so starts nothing: its batch is its reader's, until another dispatch starts workers.
      def ensure_running
        return if @closing || (@thread&.alive? && @worker_set.queue.worker_count.positive?)

        locked = false
        @lock.synchronize { (locked = true) && start_missing }
      rescue ThreadError
        raise if locked
      end

      # Brings the thread back if something has killed it.
      def supervise
        ensure_running if @started && !@thread&.alive? && Thread.main.alive? # a process that exits starts no threads
      end

      def statistics
        queue = @worker_set.queue
        {workers: queue.worker_count, busy: @worker_set.handles.count { |handle| handle.slot.busy? }, abandoned: @worker_set.abandoned.size,
         deaths: @deaths, breaker_open: @circuit_breaker.open?, **statistics_of_line(queue), **statistics_of_payloads(*queue.counts),
         wait_seconds: QUANTILES.transform_values { |share| queue.quantile(false, share) },
         run_seconds: QUANTILES.transform_values { |share| queue.quantile(true, share) }, by_worker: statistics_by_worker}
      end

      def resize(count)
        @workers = count
        @worker_set.resize(target) if @started
        @worker_set.queue.summon # what waits may be its readers' now
      end

      # Ends workers and thread, when they have done the queued work. Neither waits nor locks. In a child process there are none.
      def release
        return if @worker_set.queue.forked?

        @closing = true
        @worker_set.queue.close
        @worker_set.queue.dissolve if @worker_set.queue.worker_count.zero?
      end

      # Ends workers and thread. Returns in time, whatever they do.
      # @return [Boolean] whether all of them have ended
      def stop(timeout)
        limit = Clock.deadline(timeout)
        @closing = true
        @worker_set.queue.close
        ended = @worker_set.queue.wait_until_workerless(timeout)
        @worker_set.retire_all
        @worker_set.queue.dissolve
        join(@thread, limit, 0.001)
        join(Thread.new { care }, limit, LAST_LOOK_SECONDS) # a logger may block, but not the shutdown
        ended
      end

      private

      # A shutdown goes on whatever ended the thread; and a subscriber that calls it may be in that thread itself.
      def join(thread, limit, least)
        return if thread.nil? || thread == Thread.current

        thread.report_on_exception = false
        thread.join(limit && Clock.left(limit, least:))
      rescue Exception => error # rubocop:disable Lint/RescueException -- of the thread's, unless this one is interrupted
        raise if thread.alive?

        warn("guildhall: the supervisor ended with #{error.class}: #{Redaction.message(error)}")
      end

      def start_missing
        return if @closing

        @started = true
        @worker_set.resize(target)
        @thread = start unless @thread&.alive?
      end

      def start
        Thread.new { Thread.handle_interrupt(Object => :immediate) { watch } }.tap do |thread|
          thread.name = "guildhall supervisor"
          thread.priority = 3
        end
      end

      def watch
        pause = 0
        until @closing && @worker_set.handles.empty?
          @worker_set.queue.attend(pause)
          pause = carefully
        end
      end

      # After an internal error, workers stay supervised.
      def carefully
        care
      rescue StandardError => error
        warn("guildhall: the supervisor continues after #{error.class}: #{Redaction.message(error)} (#{error.backtrace&.first})")
        0.1
      end

      # @return [Numeric, nil] when to look again, in seconds; nil: when summoned
      def care
        @worker_set.each_exited { |handle| recover(handle) }
        pause = abandon_the_stuck
        @worker_set.resize(target) unless @closing
        report_slices if @instrumentation.listening?
        @log.drain(@settings.logger)
        @notifier.look(@worker_set.handles.all?(&:retired))
        pause
      end

      # A stuck Ractor cannot be killed, and uses a core: beyond the limit it is not replaced.
      def target
        return 0 if @circuit_breaker.open?

        [@workers - [@worker_set.abandoned.size - @limits.max_abandoned, 0].max, 0].max
      end

      # Publishes what the worker had finished and queues again what it had not begun. The payload that it died with runs once more, and
      # fails the second time.
      def recover(handle)
        index = handle.slot.recover(@closing || @circuit_breaker.open?)
        return if handle.retired || @closing

        @deaths += 1
        opened = @circuit_breaker.died
        @instrumentation.publish("pool.worker_died", index:, worker: handle.number)
        open_breaker if opened
      end

      def open_breaker
        pause = @limits.breaker_pause
        @instrumentation.publish("pool.breaker_opened", deaths: @limits.breaker_deaths, pause:)
        message = "guildhall: #{@limits.breaker_deaths} workers died within #{@limits.breaker_window} s; " \
                  "for #{pause} s the pool's work is done by its callers"
        @settings.logger ? @settings.logger.error(message) : warn(message)
      end

      def abandon_the_stuck
        shortest = @worker_set.queue.shortest_deadline or return

        nearest = @worker_set.handles.filter_map { |handle| look_at(handle) }.min
        [[nearest, shortest].compact.min, SHORTEST_PAUSE_SECONDS].max
      end

      # @return [Numeric, nil] seconds until the worker's payload is overdue
      def look_at(handle)
        index, late, since = handle.slot.overdue
        return -late if late && late <= 0
        return unless late

        error = StuckError.new("still running #{late.round(3)} s after its deadline; its worker was abandoned")
        return unless @worker_set.give_up(handle, index, since, Failure.of(error, index))

        @instrumentation.publish("pool.worker_abandoned", index:, worker: handle.number, abandoned: @worker_set.abandoned.size)
        nil
      end

      def report_slices
        @worker_set.slices.drain.each do |worker, first, payloads, seconds|
          @instrumentation.publish("pool.slice_finished", worker:, first:, payloads:, seconds:)
        end
      end

      def statistics_of_line(queue)
        named, anonymous = queue.depths.partition(&:first)
        {queued: queue.payloads, batches: queue.batches, saturated: queue.payloads >= @settings.capacity,
         by_source: named.to_h.merge(anonymous.empty? ? {} : {nil => anonymous.sum(&:last)})}
      end

      def statistics_of_payloads(inlined, by_workers, late)
        all = inlined + by_workers
        {inlined:, by_workers:, inlined_share: all.zero? ? 0.0 : inlined.fdiv(all), late_results: late}
      end

      # Counts of workers that have exited are kept as a sum.
      def statistics_by_worker
        counts = [*@worker_set.handles, *@worker_set.abandoned].to_h { |handle| [handle.number, handle.slot.counts] }
        counts[:exited] = @worker_set.counts_of_exited if @worker_set.counts_of_exited.first.positive?
        counts.transform_values { |slices, payloads, failures, busy_seconds| {slices:, payloads:, failures:, busy_seconds:} }
      end
    end

    # Opens after several worker crashes within some seconds. While it is open, no worker is replaced, and callers process the work
    # themselves.
    # @api private
    class CircuitBreaker
      def initialize(deaths:, window:, pause:)
        @deaths = deaths
        @window = window
        @pause = pause
        @times = []
        @open_until = nil
      end

      # @return [Boolean] whether this death opened it
      def died
        now = Clock.now
        @times = [*@times.select { |time| time > now - @window }, now]
        return false if @times.size < @deaths || open?

        @times = []
        @open_until = now + @pause
        true
      end

      def open?
        !@open_until.nil? && Clock.now < @open_until
      end
    end
  end
end
