# frozen_string_literal: true

module Guildhall
  class Pool
    # Supervises the workers of a pool in a thread of its own. It sleeps until it is called: by a worker that leaves, by a
    # batch with a deadline or a listener, by a line of the log. No payload and no result waits for it, and if it is killed
    # the next reader that waits starts it again.
    class Supervisor
      SHORTEST_PAUSE_SECONDS = 0.002
      LAST_LOOK_SECONDS = 0.1
      private_constant :SHORTEST_PAUSE_SECONDS, :LAST_LOOK_SECONDS

      # `workers`: how many there should be; `deaths`: how many have died.
      attr_reader :worker_set, :circuit_breaker, :workers, :deaths

      def initialize(settings, instrumentation, notifier)
        @settings = settings
        @instrumentation = instrumentation
        @notifier = notifier
        @log = Log.new
        @worker_set = WorkerSet.new(settings.capacity, @log)
        @deaths = 0
        @circuit_breaker = CircuitBreaker.new(deaths: settings.breaker_deaths, window: settings.breaker_window,
          pause: settings.breaker_pause)
        @workers = settings.workers
        @closing = @started = false
        @shortest_deadline = nil
        @lock = Mutex.new
      end

      # Whether there are or may be workers.
      def any_workers?
        @workers.positive? && !@circuit_breaker.open? && @worker_set.abandoned.size < @settings.max_abandoned + @workers
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

      def resize(count)
        @workers = count
        @worker_set.resize(target) if @started
        @worker_set.queue.call # what waits may be its readers' now
      end

      # @param seconds [Numeric] that one payload of a batch now in line may take
      def expect_within(seconds)
        @lock.synchronize { @shortest_deadline = [@shortest_deadline, seconds].compact.min }
        @worker_set.queue.call
      end

      # Ends workers and thread, when they have done the queued work. Neither waits nor locks. In a child process there are none.
      def release
        return if @worker_set.queue.forked?

        @closing = true
        @worker_set.queue.close
        @worker_set.queue.dissolve if @worker_set.queue.worker_count.zero?
      end

      # Ends workers and thread. Returns in time, whatever they do.
      # @param timeout [Numeric, nil] seconds; nil: no limit
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

      # The shutdown does not care why a thread has ended; and a subscriber may be in that thread itself.
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

      # An internal error must not leave the workers unsupervised.
      def carefully
        care
      rescue StandardError => error
        warn("guildhall: the supervisor continues after #{error.class}: #{Redaction.message(error)} (#{error.backtrace&.first})")
        0.1
      end

      # @return [Numeric, nil] when to look again, in seconds; nil: when called
      def care
        @worker_set.each_exited { |handle| recover(handle) }
        pause = abandon_the_stuck
        @worker_set.resize(target) unless @closing
        report_slices if @instrumentation.listening?
        @log.drain(@settings.logger)
        @notifier.look(@worker_set.handles.all?(&:retired))
        pause
      end

      # Ractors cannot be killed: those that are stuck still use a core each.
      def target
        return 0 if @circuit_breaker.open?

        [@workers - [@worker_set.abandoned.size - @settings.max_abandoned, 0].max, 0].max
      end

      # What the worker had finished is published; what it had not begun goes back in line; what it died with runs once
      # more, and fails the second time.
      def recover(handle)
        index = handle.slot.recover(@closing || @circuit_breaker.open?)
        return if handle.retired || @closing

        @deaths += 1
        opened = @circuit_breaker.died
        @instrumentation.publish("pool.worker_died", index:, worker: handle.number)
        open_breaker if opened
      end

      def open_breaker
        pause = @settings.breaker_pause
        @instrumentation.publish("pool.breaker_opened", deaths: @settings.breaker_deaths, pause:)
        message = "guildhall: #{@settings.breaker_deaths} workers died within #{@settings.breaker_window} s; " \
                  "for #{pause} s the pool's work is done by its callers"
        @settings.logger ? @settings.logger.error(message) : warn(message)
      end

      def abandon_the_stuck
        return unless @shortest_deadline

        nearest = @worker_set.handles.filter_map { |handle| look_at(handle) }.min
        @lock.synchronize { @shortest_deadline = nil if @worker_set.queue.wait_until_drained(0) } # not one that was expected just now
        [[nearest, @shortest_deadline].compact.min || SHORTEST_PAUSE_SECONDS, SHORTEST_PAUSE_SECONDS].max
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
        @worker_set.handles.each do |handle|
          handle.slot.new_slices.each do |first, payloads, seconds|
            @instrumentation.publish("pool.slice_finished", worker: handle.number, first:, payloads:, seconds:)
          end
        end
      end
    end
  end
end
