# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "shareable"
require_relative "inspection"
require_relative "callable"
require_relative "dropped"
require_relative "instrumentation"
require_relative "failure"
require_relative "signal_trap"
require_relative "task"
require "guildhall/native"
require_relative "pool/settings"
require_relative "pool/decision"
require_relative "pool/task_code"
require_relative "pool/task_registry"
require_relative "pool/log"
require_relative "pool/worker_set"
require_relative "pool/supervisor"
require_relative "pool/notifier"
require_relative "pool/progress"
require_relative "pool/continuation"
require_relative "pool/future"
require_relative "pool/report"
require_relative "pool/mapping"
require_relative "pool/fork_tracking"

module Guildhall
  # Runs tasks on payloads in worker Ractors, or in the caller's thread where that is faster. A pool without references ends its workers
  # and threads by itself.
  #
  # Used in the main Ractor, by any number of threads and fibers.
  class Pool
    include Mapping

    EVENTS = %w[pool.dispatched pool.inlined pool.slice_finished pool.saturated pool.worker_died pool.worker_abandoned
                pool.breaker_opened pool.shut_down].freeze
    # Defined in C:
    # @!parse
    #   # @api private
    #   class Batch; end
    #   # @api private
    #   class FairQueue; end
    #   # @api private
    #   class Runnable; end
    #   # @api private
    #   class WorkerSlot; end

    # The report of a shutdown: whether all workers have ended, how many payloads wait, how many workers are still busy.
    # @api private
    Shutdown = Data.define(:complete, :unfinished, :stuck)
    SUPERVISE_EVERY_SECONDS = 0.1 # while a thread waits for workers
    private_constant :SUPERVISE_EVERY_SECONDS

    class << self
      # Yields a pool, and shuts it down when the block is left.
      # @param settings [Hash] see {Settings#initialize}
      # @return [Object] what the block returns
      def open(**settings)
        pool = new(**settings)
        yield pool
      ensure
        pool&.shutdown
      end

      # Within the block, everything this thread dispatches to whatever pool runs in the thread that reads it:
      # for debuggers, profilers and coverage, which see nothing inside Ractors. `GUILDHALL_INLINE=1` does it for a process.
      # @return [Object] what the block returns
      def inline
        before = Thread.current.thread_variable_get(:guildhall_inline)
        Thread.current.thread_variable_set(:guildhall_inline, true)
        yield
      ensure
        Thread.current.thread_variable_set(:guildhall_inline, before)
      end

      # @api private
      # @raise [WrongRactorError] outside the main Ractor
      def check_ractor!
        raise WrongRactorError, "pools live in the main Ractor; in a worker, call the code itself" unless Ractor.main?
      end

      # Ends the workers of a pool that was collected. It must neither refer to the pool nor lock: the collector calls it, wherever it
      # happens to run.
      # @api private
      def finalizer(owned) = ->(_) { owned.first.release }
    end

    attr_reader :settings

    # @return [Instrumentation] see {EVENTS}
    attr_reader :instrumentation

    # Starts nothing yet: the workers start with the first batch that is given to them.
    # @param settings [Hash] see {Settings#initialize}
    # @param limits [Limits] not a setting: for tests
    # @raise [ConfigurationError] naming every setting that is wrong
    def initialize(limits: Limits.new, **settings)
      Pool.check_ractor!
      @settings = Settings.new(**settings)
      @limits = limits
      @instrumentation = Instrumentation.new(EVENTS)
      @registry = TaskRegistry.new
      @lock = Mutex.new
      @closed = false
      @inline = !["", "0"].include?(ENV.fetch("GUILDHALL_INLINE", ""))
      @began = [Clock.now, GC.total_time].freeze
      start
    end

    # Queues a batch, or leaves it to whoever reads it. Returns at once; decodes and runs nothing. A task, or a pipeline's codec, that
    # answers `prepare(payloads)` is asked to, here in the dispatching thread, and may block: that is where a codec fetches what
    # workers cannot (schemas, say).
    # @param payloads [Enumerable] Strings (unfrozen ones are copied) or other shareable objects
    # @param task [#call] shareable; takes `(payload)` or `(payload, metadata)`; a block can replace it
    # @option options [Object] source batches of one source stay in line, sources take turns; nil: a source of its own. By `hash`,
    #   which must not change meanwhile; one that is not shareable appears in `stats` by its `to_s`
    # @option options [Array] metadata one shareable object a payload
    # @option options [Boolean] records payloads are shareable objects with `raw_payload`, and their own metadata
    # @option options [Boolean, nil] parallel true: workers alone; false: the reading thread; nil: as it pays, and then readers help
    #   where no worker is free
    # @option options [Numeric] deadline seconds that one payload may take on a worker; nil: the pool's setting
    # @option options [Boolean] retry false fails what a worker died with at once instead of running it once more
    # @option options [Integer] slice payloads a worker takes at once; nil: as it pays
    # @option options [Integer] priority slices a turn; 1. A source has that of its first batch for as long as it has work
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [PoolSaturatedError] with `overflow: :reject`, or after waiting with `overflow: :wait`
    # @raise [PoolClosedError]
    # @raise what the task's `prepare` raises
    def dispatch(payloads, task = nil, **options, &block)
      Options.check!(options, Options::DISPATCH)
      submit(false, ChunkReader.array(payloads), task_of(task, block, options), **options)
    end

    # Starts the workers, and loads here in the main Ractor what the task needs: a worker would have to wait for that, or fail.
    # With payloads, the task is run on them. Without, the constants that its code names are resolved; a warning names those
    # that cannot be.
    # @param payloads [Array] samples
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [PoolClosedError]
    def warm_up(task, payloads = [])
      check_open
      Callable.check!(task)
      payloads = ChunkReader.array(payloads)
      warn_of_missing(Inspection.of(task, load: true).missing, task)
      runnable = @registry[task]
      arguments = Callable.takes_metadata?(runnable.task) ? [nil] : []
      payloads.each { |payload| runnable.task.call(payload, *arguments) }
      start_workers unless inline?
      self
    end

    # @return [Boolean] whether the queue is full, so that the overflow policy applies to the next batch
    def saturated?
      @queue.payloads >= @settings.capacity
    end

    # @return [Integer] payloads of batches that workers have not wholly begun
    def depth
      @queue.payloads
    end

    # Payloads are counted once their slice has ended, which may be just after `map` has returned.
    # @return [Hash{Symbol=>Object}] `workers`, `busy`, `abandoned`, `deaths`, `breaker_open`; `queued` (payloads) and `batches`, which wait
    #   for workers now; `saturated`; `by_source` (of at most 512 sources), `inlined`, `by_workers`, `inlined_share`, `late_results`;
    #   `wait_seconds` (of a batch until its first slice) and `run_seconds` (of a slice), each with p50, p90 and p99; `by_worker` (by
    #   number; `:exited`: the sum of workers that have exited); `gc_share` (of the time since the pool was made)
    def stats
      reset_after_fork
      began, collecting = @began
      @supervisor.statistics.merge(gc_share: (GC.total_time - collecting).fdiv((Clock.now - began) * 1_000_000_000))
    end

    # @return [Report] what the pool has measured, and decides by that; `puts pool.report`
    def report
      Report.new(@queue, @registry.names, @supervisor.workers)
    end

    # @return [Boolean] whether there are worker Ractors in this process
    def workers?
      !@queue.forked? && @queue.worker_count.positive?
    end

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
      return outside_of_trap(timeout) { shutdown(timeout:) } if SignalTrap.active?

      reset_after_fork
      complete = @supervisor.stop(timeout)
      @notifier.stop(limit && Clock.left(limit))
      report = Shutdown.new(complete:, unfinished: @queue.payloads, stuck: @supervisor.worker_set.stuck)
      @instrumentation.publish("pool.shut_down", **report.to_h)
      report
    end

    # Ends the workers as {#shutdown} does; new ones start with the next batch, once the last of them has ended.
    # @param timeout [Numeric, nil] seconds; nil: no limit
    # @return [Boolean] whether all workers have ended
    def rest(timeout: 10)
      reset_after_fork
      @inline_context = nil
      @supervisor.stop(timeout).tap { restart }
    end

    def inspect
      "#<Guildhall::Pool #{@supervisor.workers} workers#{" closed" if @closed}>"
    end

    # @api private
    def notifier
      reset_after_fork
      @notifier
    end

    # @api private
    def supervise
      reset_after_fork
      @supervisor.supervise
    end

    # @api private
    # @param batch [Batch] that its reader has begun alone, and that takes longer than a hand-over
    def parallelize(batch)
      return if @closed || inline? || !@supervisor.any_workers?

      start_workers
      batch.decision = Decision.number(:parallel, :overdue) if @queue.push(batch)
    end

    # Tasks find the logger in the thread that runs them, for as long as they run there.
    # @api private
    # @return [Object] what the block returns
    def with_logger
      return yield unless (logger = @settings.logger)

      begin
        before = Thread.current.thread_variable_get(:guildhall_logger)
        Thread.current.thread_variable_set(:guildhall_logger, logger)
        yield
      ensure
        Thread.current.thread_variable_set(:guildhall_logger, before)
      end
    end

    # @api private
    def stop_at_exit
      return if @closed || !workers?

      @supervisor.worker_set.retire_all
      @supervisor.stop(@limits.exit_timeout)
    end

    private

    # See {#dispatch}.
    # @param reading [Boolean] the caller reads the results at once, and so runs slices too
    # @param prepare [Boolean] false: the caller has let the task's codec prepare what it needs
    def submit(reading, payloads, task, source: nil, metadata: nil, records: false, parallel: nil, deadline: nil, prepare: true, **options)
      check(payloads, metadata, records)
      runnable = @registry[task]
      prepare_batch(runnable.preparer, payloads, metadata, records) if prepare && runnable.preparer
      batch = Batch.build(@queue, runnable, payloads, metadata, records, options.fetch(:retry, true), deadline || @settings.deadline,
        options[:slice], source, options.fetch(:priority, 1))
      batch.decision = decide(batch, parallel, reading && !Fiber.current_scheduler)
      enqueue(batch, source) if Decision.of(batch).parallel? && batch.size.positive?
      publish_submitted(batch, source) if @instrumentation.listening?
      @queue.decided(batch)
      Future.new(self, batch)
    end

    # @param batch [Batch] that its caller has begun in the short way (inline_run.c calls this), and whose rest is worth handing over
    # @param raising [Boolean] see {Mapping#map}
    def enqueue_remaining(batch, raising)
      reason = inline_reason(batch, nil)
      reason ? batch.decision = Decision.number(:inline, reason) : enqueue(batch, nil)
      @queue.decided(batch)
      read(Future.new(self, batch), raising)
    end

    def prepare_batch(codec, payloads, metadata, records)
      records ? Callable.prepare(codec, payloads.map(&:raw_payload), payloads) : Callable.prepare(codec, payloads, metadata)
    end

    def check(payloads, metadata, records)
      check_open
      check_records(payloads.first) if records && !payloads.empty?
      return if metadata.nil? || metadata.size == payloads.size

      raise Guildhall::ArgumentError, "metadata must be an Array as long as payloads (#{payloads.size})"
    end

    # Checks only the first payload: that catches a misused option, and checking all of them would slow every batch.
    def check_records(payload)
      return if payload.respond_to?(:raw_payload)

      what = Shareable.article(Shareable.type_of(payload))
      raise Guildhall::ArgumentError, "records: true is for payloads with `raw_payload`; payloads[0] is #{what}"
    end

    # @return [Integer] see {Decision.number}
    def decide(batch, parallel, reading)
      reason = inline_reason(batch, parallel)
      return Decision.number(:inline, reason) if reason

      parallel ? Decision.number(:parallel, :forced) : batch.decide(reading)
    end

    # @return [Symbol, nil] why it must not be given to workers, whatever it costs
    def inline_reason(batch, parallel)
      return :main_only if batch.inline_reason
      return :inline_mode if inline?
      return :breaker_open if @supervisor.circuit_breaker.open?
      return :no_workers unless @supervisor.any_workers?

      :forced if parallel == false
    end

    def inline?
      @inline || Thread.current.thread_variable_get(:guildhall_inline)
    end

    def enqueue(batch, source)
      start_workers
      pushed = @queue.push(batch)
      pushed = overflow(batch, source) if pushed == false
      batch.decision = Decision.number(:inline, pushed.nil? ? :queue_closed : :saturated) unless pushed
    end

    # Applies the overflow policy to a batch for which there is no room.
    # @return [Boolean, nil] whether it is in line now
    def overflow(batch, source)
      @instrumentation.publish("pool.saturated", queued: @queue.payloads, payloads: batch.size, source:)
      return false if @settings.overflow == :defer

      limit = Clock.now + @settings.overflow_timeout
      while @settings.overflow == :wait && Clock.now < limit
        @queue.wait_for_room(batch.size, limit - Clock.now)
        pushed = @queue.push(batch)
        return pushed unless pushed == false
      end
      raise PoolSaturatedError, "#{@queue.payloads} payloads wait, and #{batch.size} more do not fit (capacity: #{@settings.capacity})"
    end

    def publish_submitted(batch, source)
      decision = Decision.of(batch)
      @queue.want_slices(true) if decision.parallel?
      event = decision.parallel? ? "pool.dispatched" : "pool.inlined"
      @instrumentation.publish(event, payloads: batch.size, source:, decision: decision.to_s)
    end

    def warn_of_missing(constants, task)
      return if constants.empty?

      text = "guildhall: warm_up of #{Inspection.name_of(task)} could not load #{constants.join(", ")}"
      @settings.logger ? @settings.logger.warn(text) : warn(text)
    end

    def check_open
      raise PoolClosedError, "this pool has been shut down" if @closed

      reset_after_fork
      restart if @supervisor.ended? # a rest whose time was up has ended by now
    end

    # Several threads may come to it. The handler of a signal cannot lock: it starts only what no thread is about to start.
    def restart
      renew = -> { start if @queue.forked? || (@supervisor.ended? && !@closed) }
      return @lock.synchronize(&renew) unless SignalTrap.active?

      renew.call unless @lock.locked?
    end

    def start
      @notifier = Notifier.new(self)
      @supervisor = Supervisor.new(@settings, @limits, @instrumentation, @notifier)
      @queue = @supervisor.worker_set.queue
      @tracked = false
      ObjectSpace.define_finalizer(self, Pool.finalizer(@owned = [])) unless @owned
      @owned[0] = @supervisor
      open_short_way
    end

    # `map` begins at once in the caller if this variable is set: inline_run.c reads it. Not with a deadline, which holds on workers only.
    def open_short_way
      return if @closed || @supervisor.closing || @settings.deadline

      @inline_context = [@queue, @registry, @instrumentation, @supervisor.workers.positive?, @settings.logger].freeze
    end

    # In a child process there are no workers, whatever the memory says.
    def reset_after_fork
      restart if @queue.forked?
    end

    def start_workers
      ForkTracking.begin(self) unless @tracked
      @tracked = true
      @supervisor.ensure_running
    end

    # The thread that the signal has interrupted may hold a lock that is needed. Then this gives up when the time is up, and the shutdown
    # goes on in its thread.
    def outside_of_trap(timeout, &)
      thread = Thread.new(&)
      thread.report_on_exception = false
      thread.join(timeout && (timeout + 1))
      return thread.value unless thread.alive?

      Shutdown.new(complete: false, unfinished: @queue.payloads, stuck: @supervisor.worker_set.stuck)
    end
  end
end

module Guildhall # rubocop:disable Style/Documentation
  @pool_lock = Mutex.new

  class << self
    # The process's pool, with default settings unless another one was assigned; made when it is first asked for.
    # @raise [WrongRactorError] outside the main Ractor
    def pool
      Pool.check_ractor!
      @pool || @pool_lock.synchronize { @pool ||= Pool.new }
    end

    # Replaces the process's pool. The one before goes on until it is shut down, or has no references any more.
    # @param pool [Pool, nil] nil: a new one when it is next asked for
    def pool=(pool)
      Pool.check_ractor!
      raise Guildhall::ArgumentError, "not a pool: #{pool.inspect}" unless pool.nil? || pool.is_a?(Pool)

      @pool_lock.synchronize { @pool = pool }
    end
  end
end
