# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "shareable"
require_relative "inspection"
require_relative "callable"
require_relative "dropped"
require_relative "instrumentation"
require_relative "failure"
require_relative "task"
require "guildhall/native"
require_relative "pool/settings"
require_relative "pool/decision"
require_relative "pool/code"
require_relative "pool/code_key"
require_relative "pool/literal"
require_relative "pool/admission"
require_relative "pool/log"
require_relative "pool/worker"
require_relative "pool/worker_set"
require_relative "pool/circuit_breaker"
require_relative "pool/supervisor"
require_relative "pool/notifier"
require_relative "pool/helping_wait"
require_relative "pool/options"
require_relative "pool/progress"
require_relative "pool/chainable"
require_relative "pool/continuation"
require_relative "pool/future"
require_relative "pool/statistics"
require_relative "pool/report"
require_relative "pool/streaming"
require_relative "pool/reduction"
require_relative "pool/mapping"
require_relative "pool/lifecycle"
require_relative "pool/fork_tracking"
require_relative "pool/default"

module Guildhall
  # Runs tasks on payloads in worker Ractors, or in the caller's thread where that is faster.
  #
  # Used in the main Ractor, by any number of threads and fibers.
  class Pool
    include Lifecycle
    include Mapping
    include Streaming

    EVENTS = %w[pool.dispatched pool.inlined pool.slice_finished pool.saturated pool.worker_died pool.worker_abandoned
                pool.breaker_opened pool.shut_down].freeze

    # Yields a pool, and shuts it down when the block is left.
    # @param settings [Hash] see {Settings#initialize}
    # @return [Object] what the block returns
    def self.open(**settings)
      pool = new(**settings)
      yield pool
    ensure
      pool&.shutdown
    end

    # Within the block, everything this thread dispatches to whatever pool runs in the thread that reads it:
    # for debuggers, profilers and coverage, which see nothing inside Ractors. `GUILDHALL_INLINE=1` does it for a process.
    # @return [Object] what the block returns
    def self.inline
      before = Thread.current.thread_variable_get(:guildhall_inline)
      Thread.current.thread_variable_set(:guildhall_inline, true)
      yield
    ensure
      Thread.current.thread_variable_set(:guildhall_inline, before)
    end

    # @api private
    # @raise [WrongRactorError] outside the main Ractor
    def self.check_ractor!
      raise WrongRactorError, "pools live in the main Ractor; in a worker, call the code itself" unless Ractor.main?
    end

    attr_reader :settings

    # @return [Instrumentation] see {EVENTS}
    attr_reader :instrumentation

    # @api private
    def notifier
      reset_after_fork
      @notifier
    end

    # Starts nothing yet: the workers start with the first batch that is given to them.
    # @param settings [Hash] see {Settings#initialize}
    # @raise [ConfigurationError] naming every setting that is wrong
    def initialize(**settings)
      Pool.check_ractor!
      @settings = Settings.new(**settings)
      @instrumentation = Instrumentation.new(EVENTS)
      @admission = Admission.new
      @lock = Mutex.new
      @closed = false
      @inline = !["", "0"].include?(ENV.fetch("GUILDHALL_INLINE", ""))
      @began = [Clock.now, GC.total_time].freeze
      start
    end

    # Takes a batch in. Returns at once; decodes and runs nothing. A task, or a pipeline's codec, that answers
    # `prepare(payloads)` is asked to, here in the dispatching thread, and may block: that is where a codec fetches what
    # workers cannot (schemas, say).
    # @param payloads [Enumerable] Strings (unfrozen ones are copied) or other shareable objects
    # @param task [#call] shareable; takes `(payload)` or `(payload, metadata)`; a block can replace it
    # @option options [Object] source batches of one source stay in line, sources take turns; nil: a source of its own. By `hash`,
    #   which must not change meanwhile; one that is not shareable appears in `stats` by its `to_s`
    # @option options [Array] metadata one shareable object a payload
    # @option options [Boolean] records payloads are shareable objects with `raw_payload`, and their own metadata
    # @option options [Boolean, nil] parallel true: workers alone; false: the reading thread; nil: the pool's setting, or
    #   as it pays, and then readers help where no worker is free
    # @option options [Integer] min_payloads smaller batches run in the thread that reads them; nil: the pool's setting
    # @option options [Numeric] deadline seconds that one payload may take on a worker; nil: the pool's setting
    # @option options [Boolean] retry false fails what a worker died with at once instead of running it once more
    # @option options [Integer] slice payloads a worker takes at once; nil: the pool's setting, or as it pays
    # @option options [Integer] priority slices a turn; 1
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [PoolSaturatedError] with `overflow: :reject`, or after waiting with `overflow: :wait`
    # @raise [PoolClosedError]
    # @raise what the task's `prepare` raises
    def dispatch(payloads, task = nil, **options, &block)
      Options.check!(options, Options::DISPATCH)
      take_in(false, Feed.array(payloads), task_of(task, block, options), **options)
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
      payloads = Feed.array(payloads)
      complain_of(Inspection.of(task, load: true).missing, task)
      runnable = @admission[task]
      arguments = Callable.takes_metadata?(runnable.task) ? [nil] : []
      payloads.each { |payload| runnable.task.call(payload, *arguments) }
      start_workers unless inline?
      self
    end

    # @return [Boolean] whether the queue is full, so that the overflow policy applies to the next batch
    def saturated?
      @queue.saturated?
    end

    # @return [Integer] payloads of batches that workers have not wholly begun
    def depth
      @queue.payloads
    end

    # @return [Hash{Symbol=>Object}] see docs/pool.md
    def stats
      reset_after_fork
      began, collecting = @began
      Statistics.of(@supervisor).merge(gc_share: (GC.total_time - collecting).fdiv((Clock.now - began) * 1_000_000_000))
    end

    # @return [Report] what the pool has measured, and decides by that; `puts pool.report`
    def report
      Report.new(@queue, @admission.names, @supervisor.workers)
    end

    # @api private
    # @param batch [Batch] that its reader has begun alone, and that takes longer than a hand-over
    def spread(batch)
      return if @closed || inline? || !@supervisor.any_workers?

      start_workers
      batch.decision = Decision.number(:parallel, :overdue) if @queue.push(batch)
    end

    # Tasks find the logger in the thread that runs them; what the thread does besides is none of theirs.
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
    def supervise
      reset_after_fork
      @supervisor.supervise
    end

    def inspect
      "#<Guildhall::Pool #{@supervisor.workers} workers#{" closed" if @closed}>"
    end

    private

    def complain_of(missing, task)
      return if missing.empty?

      text = "guildhall: warm_up of #{Inspection.name_of(task)} could not load #{missing.join(", ")}"
      @settings.logger ? @settings.logger.warn(text) : warn(text)
    end

    # See {#dispatch}.
    # @param reading [Boolean] the caller reads the results at once, and so runs slices too
    # @param prepare [Boolean] false: the caller has let the task's codec prepare what it needs
    def take_in(reading, payloads, task, source: nil, metadata: nil, records: false, parallel: nil, min_payloads: nil, deadline: nil,
                prepare: true, **options)
      check(payloads, metadata, records)
      runnable = @admission[task]
      prepare_batch(runnable.preparer, payloads, metadata, records) if prepare && runnable.preparer
      batch = build(payloads, runnable, metadata, records, deadline, source, options)
      batch.decision = decide(batch, parallel, min_payloads || @settings.min_payloads, reading && !Fiber.current_scheduler)
      line_up(batch, source, deadline) if Decision.of(batch).parallel? && batch.size.positive?
      publish_taken_in(batch, source) if @instrumentation.listening?
      @queue.decided(batch)
      Future.new(self, batch)
    end

    # @param batch [Batch] that its caller has begun in the short way, and that is worth handing over
    # @param raising [Boolean] see {Mapping#map}
    def take_over(batch, raising)
      reason = inline_reason(batch, nil, nil)
      reason ? batch.decision = Decision.number(:inline, reason) : line_up(batch)
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

    # The first one tells those who have mistaken what it means; looking at all of them would cost every batch.
    def check_records(payload)
      return if payload.respond_to?(:raw_payload)

      what = Shareable.article(Shareable.type_of(payload))
      raise Guildhall::ArgumentError, "records: true is for payloads with `raw_payload`; payloads[0] is #{what}"
    end

    def build(payloads, runnable, metadata, records, deadline, source, options)
      Batch.build(@queue, runnable, payloads, metadata, records, options.fetch(:retry, true),
        deadline || @settings.deadline, options[:slice] || @settings.slice, source, options.fetch(:priority, 1))
    end

    # @return [Integer] see {Decision.number}
    def decide(batch, parallel, min_payloads, reading)
      parallel = @settings.parallel if parallel.nil?
      reason = inline_reason(batch, parallel, min_payloads)
      return Decision.number(:inline, reason) if reason

      parallel ? Decision.number(:parallel, :forced) : batch.decide(reading)
    end

    # @return [Symbol, nil] why it must not be given to workers, whatever it costs
    def inline_reason(batch, parallel, min_payloads)
      return :main_only if batch.inline_reason
      return :inline_mode if inline?
      return :breaker_open if @supervisor.circuit_breaker.open?
      return :no_workers unless @supervisor.any_workers?
      return :forced if parallel == false

      :min_payloads if parallel.nil? && min_payloads && batch.size < min_payloads
    end

    def inline?
      @inline || Thread.current.thread_variable_get(:guildhall_inline)
    end

    def line_up(batch, source = nil, deadline = nil)
      start_workers
      pushed = @queue.push(batch)
      pushed = overflow(batch, source) if pushed == false
      return batch.decision = Decision.number(:inline, :saturated) unless pushed

      deadline ||= @settings.deadline
      @supervisor.expect_within(deadline) if deadline
    end

    def publish_taken_in(batch, source)
      decision = Decision.of(batch)
      @queue.want_slices(true) if decision.parallel?
      event = decision.parallel? ? "pool.dispatched" : "pool.inlined"
      @instrumentation.publish(event, payloads: batch.size, source:, decision: decision.to_s)
    end

    # There is no room for the batch.
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
  end
end
