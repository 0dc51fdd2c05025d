# frozen_string_literal: true

module Guildhall
  class Pool
    # How a pool begins, pauses and ends. A pool without references ends its workers and threads by itself.
    module Lifecycle
      # What a shutdown left behind: whether all workers have ended, payloads that wait, workers that are still busy.
      Shutdown = Data.define(:complete, :unfinished, :stuck)

      # Ends what belongs to a pool that was collected. Must not refer to it, and must not lock: it is called wherever the
      # collector happens to run.
      def self.finalizer(owned) = ->(_) { owned.first.release }

      # @param count [Integer] workers from now on; surplus ones end after their slice
      # @raise [Guildhall::ArgumentError]
      # @raise [PoolClosedError]
      def resize(count)
        problem = Settings::WORKERS.problem(count)
        raise Guildhall::ArgumentError, "workers #{problem}" if problem

        check_open
        @supervisor.resize(count)
        open_short_way
        self
      end

      SUPERVISE_EVERY_SECONDS = 0.1
      private_constant :SUPERVISE_EVERY_SECONDS

      # Waits until the workers have done all that was given to them. In a child process there is nothing to wait for: what was
      # given to the parent's workers is theirs.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] false when the time was up
      def drain(timeout: nil)
        limit = Clock.deadline(timeout)
        reset_after_fork
        until (drained = @queue.wait_until_drained([limit && Clock.left(limit), SUPERVISE_EVERY_SECONDS].compact.min))
          break if limit && Clock.now >= limit

          supervise
        end
        drained
      end

      # Ends the workers, when they have done the queued work or the time is up. What was not done stays readable: its reader runs
      # it. Can be called from anywhere in the main Ractor: a callback, a subscriber, a trap.
      # @param timeout [Numeric, nil] seconds in which this returns, whatever the workers do; nil: no limit
      # @return [Shutdown] what was not done
      def shutdown(timeout: 10)
        limit = Clock.deadline(timeout)
        @closed = true
        @inline_context = nil
        return outside_of_trap(timeout) { shutdown(timeout:) } if in_trap?

        reset_after_fork
        complete = @supervisor.stop(timeout)
        @notifier.stop(limit && Clock.left(limit))
        report = Shutdown.new(complete:, unfinished: @queue.payloads, stuck: stuck)
        @instrumentation.publish("pool.shut_down", **report.to_h)
        report
      end

      # Ends the workers as {#shutdown} does; new ones start with the next batch.
      # @param timeout [Numeric, nil] seconds; nil: no limit
      # @return [Boolean] whether all workers have ended
      def rest(timeout: 10)
        reset_after_fork
        @supervisor.stop(timeout).tap { |ended| @lock.synchronize { start unless @closed } if ended }
      end

      # @return [Boolean] whether there are worker Ractors in this process
      def workers?
        !@queue.forked? && @queue.worker_count.positive?
      end

      # @api private
      def stop_at_exit
        return if @closed || !workers?

        @supervisor.worker_set.retire_all
        @supervisor.stop(@settings.exit_timeout)
      end

      private

      def check_open
        raise PoolClosedError, "this pool has been shut down" if @closed

        reset_after_fork
      end

      def start
        @notifier = Notifier.new(self)
        @supervisor = Supervisor.new(@settings, @instrumentation, @notifier)
        @queue = @supervisor.worker_set.queue
        @tracked = false
        ObjectSpace.define_finalizer(self, Lifecycle.finalizer(@owned = [])) unless @owned
        @owned[0] = @supervisor
        open_short_way
      end

      # Settings that make a difference to how a batch is run, and so have to be looked at.
      DECISIVE = %i[parallel min_payloads slice deadline].freeze
      private_constant :DECISIVE

      # What `map` needs where nothing forbids that it begins at once: see inline_run.c.
      def open_short_way
        return if @closed || DECISIVE.any? { |name| !@settings.public_send(name).nil? }

        @inline_context = [@queue, @admission, @instrumentation, @supervisor.workers.positive?, @settings.logger].freeze
      end

      # In a child process there are no workers, whatever the memory says.
      def reset_after_fork
        return unless @queue.forked?

        @lock.synchronize { start if @queue.forked? }
      end

      def start_workers
        ForkTracking.begin(self) unless @tracked
        @tracked = true
        @supervisor.ensure_running
      end

      def stuck
        @supervisor.worker_set.handles.count { |handle| !handle.slot.exited? } + @supervisor.worker_set.abandoned.size
      end

      # Nothing can be locked there.
      def in_trap?
        Mutex.new.synchronize { false }
      rescue ThreadError
        true
      end

      # The thread that the signal has come upon may hold a lock that is needed: then this gives up when the time is up, and the
      # shutdown goes on behind it.
      def outside_of_trap(timeout, &)
        thread = Thread.new(&)
        thread.report_on_exception = false
        thread.join(timeout && (timeout + 1))
        thread.alive? ? Shutdown.new(complete: false, unfinished: @queue.payloads, stuck:) : thread.value
      end
    end
  end
end
