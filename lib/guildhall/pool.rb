# frozen_string_literal: true

require_relative "clock"
require_relative "errors"
require_relative "shareable"
require_relative "callable"
require_relative "dropped"
require_relative "instrumentation"
require_relative "failure"
require_relative "task"
require "guildhall/native"
require_relative "pool/settings"
require_relative "pool/profiles"
require_relative "pool/log"
require_relative "pool/logging"
require_relative "pool/worker"
require_relative "pool/crew"
require_relative "pool/breaker"
require_relative "pool/coordinator"
require_relative "pool/notifier"
require_relative "pool/reader"
require_relative "pool/continuation"
require_relative "pool/future"
require_relative "pool/statistics"
require_relative "pool/report"
require_relative "pool/streaming"
require_relative "pool/life"
require_relative "pool/loading"

module Guildhall
  # Runs tasks on payloads in worker Ractors, or in the caller's thread where that is faster.
  #
  # Used in the main Ractor, by any number of threads and fibers.
  class Pool
    include Streaming

    EVENTS = %w[pool.dispatched pool.inlined pool.slice_finished pool.saturated pool.worker_died pool.worker_abandoned
                pool.breaker_opened pool.shut_down].freeze
    OPTIONS = {retry: true, slice: nil, priority: 1}.freeze
    private_constant :OPTIONS

    @default_lock = Mutex.new

    # The process's own pool, with default settings; made when it is first asked for.
    # @return [Pool]
    def self.default
      @default || @default_lock.synchronize { @default ||= new }
    end

    # Within the block, everything this thread dispatches to whatever pool is run by whoever reads it, in its own thread:
    # for debuggers, profilers and coverage, which see nothing inside Ractors. `GUILDHALL_INLINE=1` does it for a process.
    # @return [Object] what the block returns
    def self.inline
      before = Thread.current.thread_variable_get(:guildhall_inline)
      Thread.current.thread_variable_set(:guildhall_inline, true)
      yield
    ensure
      Thread.current.thread_variable_set(:guildhall_inline, before)
    end

    # @return [Settings]
    attr_reader :settings

    # @return [Instrumentation] see {EVENTS}
    attr_reader :instrumentation

    # @api private
    # @return [Notifier]
    attr_reader :notifier

    # Starts nothing yet: the workers start with the first batch that is given to them.
    # @param settings [Hash] see {Settings#initialize}
    # @raise [ConfigurationError] naming every setting that is wrong
    def initialize(**settings)
      @settings = Settings.new(**settings)
      @instrumentation = Instrumentation.new(EVENTS)
      @profiles = Profiles.new
      @lock = Mutex.new
      @closed = false
      @fixed = !@settings.parallel.nil? || !@settings.logger.nil?
      @inline = !["", "0"].include?(ENV.fetch("GUILDHALL_INLINE", ""))
      @began = [Clock.now, GC.total_time].freeze
      begin_anew
    end

    # Takes a batch in. Returns at once; decodes and runs nothing. A task, or a pipeline's codec, that answers
    # `prepare(payloads)` is asked to, here in the dispatching thread, and may block: that is where a codec fetches what
    # workers cannot (schemas, say).
    # @param payloads [Array] Strings (unfrozen ones are copied) or other shareable objects
    # @param task [#call] shareable; takes `(payload)` or `(payload, metadata)`
    # @param source [Object, nil] batches of one source stay in line, sources take turns; nil: a source of its own. By `hash`,
    #   which must not change meanwhile; one that is not shareable stands in `stats` by its `to_s`
    # @param metadata [Array, nil] one shareable object a payload
    # @param envelopes [Boolean] payloads are shareable objects with `raw_payload`, and their own metadata
    # @param parallel [Boolean, nil] true: workers alone; false: whoever reads the results; nil: the pool's setting, or as
    #   it pays, and then readers help where no worker is free
    # @param deadline [Numeric, nil] seconds that one payload may take on a worker; nil: the pool's setting
    # @param options [Hash] `retry: false` fails what a worker died with at once instead of running it once more;
    #   `slice:` payloads a worker takes at once (nil: as it pays); `priority:` slices a turn (default 1)
    # @return [Future]
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [PoolSaturatedError] with `overflow: :reject`, or after waiting with `overflow: :wait`
    # @raise [PoolClosedError]
    # @raise what the task's `prepare` raises
    def dispatch(payloads, task, **)
      take_in(false, payloads, task, **)
    end

    # @param payloads [Array]
    # @param task [#call]
    # @param options [Hash] see {#dispatch}
    # @return [Array] values in order, frozen
    # @raise the first payload's failure, once all are done
    def map(payloads, task, **options)
      (options.empty? && at_once(payloads, task, true)) || take_in(true, payloads, task, **options).value
    end

    # As {#map}, with Failures in their places.
    # @return [Array] frozen
    def results(payloads, task, **options)
      (options.empty? && at_once(payloads, task, false)) || take_in(true, payloads, task, **options).results
    end

    # Starts the workers, and loads what the task needs here in the main Ractor: a worker that had to would wait for it,
    # or fail. Give it payloads to run the task on them; without, the constants that its code names are resolved, and
    # those that cannot be are named in a warning.
    # @param task [#call]
    # @param payloads [Array] samples
    # @return [self]
    # @raise [NotShareableError] naming the path to what cannot be shared
    def warm_up(task, payloads = [])
      complain_of(Loading.new.of(task), task)
      profile = @profiles[task]
      payloads.each { |payload| profile.task.call(payload) }
      @coordinator.ensure_running unless inline?
      self
    end

    # @return [Boolean] whether so many payloads wait that the overflow policy applies to the next batch
    def saturated?
      @coordinator.crew.queue.saturated?
    end

    # @return [Integer] payloads of batches that workers have not wholly begun
    def depth
      @coordinator.crew.queue.payloads
    end

    # @param count [Integer] workers from now on; surplus ones end after their slice
    # @return [self]
    def resize(count)
      raise Guildhall::ArgumentError, "workers must be an Integer ≥ 0, not #{count.inspect}" unless count.is_a?(Integer) && count >= 0

      @coordinator.resize(count)
      self
    end

    # Waits until the workers have done all that was given to them.
    # @param timeout [Numeric, nil] seconds; nil: no limit
    # @return [Boolean] false when the time was up
    def drain(timeout: nil)
      limit = timeout && (Clock.now + timeout)
      until (idle = @coordinator.crew.queue.inflight.zero?) || (limit && Clock.now >= limit)
        supervise
        sleep(0.001)
      end
      idle
    end

    # Ends the workers, when they have done what waits or the time is up. What was not done stays readable: whoever reads
    # it runs it.
    # @param timeout [Numeric] seconds in which this returns, whatever the workers do
    # @return [Shutdown] what was not done
    def shutdown(timeout: 10)
      limit = Clock.now + timeout
      @closed = true
      complete = @coordinator.stop(timeout)
      @notifier.stop(Clock.left(limit))
      report = Shutdown.new(complete:, unfinished: @coordinator.crew.queue.payloads, stuck: stuck)
      @instrumentation.publish("pool.shut_down", **report.to_h)
      report
    end

    # What a shutdown left behind: whether all workers have ended, payloads that wait, workers that are still busy.
    Shutdown = Data.define(:complete, :unfinished, :stuck)

    # Ends the workers as {#shutdown} does; new ones start with the next batch.
    # @param timeout [Numeric] seconds
    # @return [Boolean] whether all workers have ended
    def rest(timeout: 10)
      @coordinator.stop(timeout).tap { |ended| @lock.synchronize { begin_anew } if ended }
    end

    # @return [Boolean] whether there are worker Ractors in this process
    def workers?
      queue = @coordinator.crew.queue
      !queue.inherited? && queue.seated.positive?
    end

    # @return [Hash{Symbol=>Object}] see docs/pool.md
    def stats
      Statistics.new(@coordinator, *@began).to_h
    end

    # @return [Report] what the pool has learned and how it decides; `puts pool.report`
    def report
      Report.new(@profiles.to_a, @coordinator.crew.queue.handover, @coordinator.workers)
    end

    # @api private
    def supervise(now: false)
      @coordinator.supervise
      @coordinator.crew.queue.call if now
    end

    # @api private
    def stop_at_exit
      return if @closed || !workers?

      @coordinator.crew.retire_all
      @coordinator.stop(@settings.exit_timeout)
    end

    # @return [String]
    def inspect
      "#<Guildhall::Pool #{@coordinator.workers} workers#{" closed" if @closed}>"
    end

    private

    def complain_of(missing, task)
      return if missing.empty?

      text = "guildhall: warm_up of #{Report.name_of(task)} could not load #{missing.join(", ")}"
      @settings.logger ? @settings.logger.warn(text) : warn(text)
    end

    # See {#dispatch}.
    # @param reading [Boolean] the caller reads the results at once, and so can be one of the batch's hands
    def take_in(reading, payloads, task, source: nil, metadata: nil, envelopes: false, parallel: nil, deadline: nil, **options)
      renew if @coordinator.crew.queue.inherited?
      check(payloads, metadata, options)
      profile = @profiles[task]
      profile.preparer&.prepare(envelopes ? payloads.map(&:raw_payload) : payloads)
      batch = build(payloads, profile, metadata, envelopes, deadline, options)
      if parallel?(batch, parallel, reading)
        line_up(batch, source, deadline, options.merge(workers_only: parallel || @settings.parallel))
      elsif @instrumentation.listening?
        @instrumentation.publish("pool.inlined", payloads: batch.size, source:)
      end
      Future.new(self, batch)
    end

    # The short way for what is small: no Future, no Batch that anybody sees.
    # @return [Array, nil] nil: it has to go the long way
    def at_once(payloads, task, raising)
      return if @closed || @fixed || @instrumentation.listening?

      profile = @profiles[task]
      return if profile.preparer

      queue = @coordinator.crew.queue
      Reader.interruptibly(profile.native?) { queue.at_once(profile, payloads, @coordinator.workers, raising) }
    end

    def begin_anew
      @notifier = Notifier.new(self)
      @coordinator = Coordinator.new(@settings, @instrumentation, @notifier)
      @born = false
    end

    # In a child process there are no workers, whatever the memory says.
    def renew
      @lock.synchronize { begin_anew if @coordinator.crew.queue.inherited? }
    end

    def check(payloads, metadata, options)
      raise PoolClosedError, "this pool has been shut down" if @closed
      raise Guildhall::ArgumentError, "payloads must be an Array, not a #{payloads.class}" unless payloads.is_a?(Array)
      unless metadata.nil? || (metadata.is_a?(Array) && metadata.size == payloads.size)
        raise Guildhall::ArgumentError, "metadata must be an Array as long as payloads (#{payloads.size})"
      end
      return if options.empty?

      unknown = options.keys - OPTIONS.keys
      raise Guildhall::ArgumentError, "unknown options: #{unknown.join(", ")}; there are #{OPTIONS.keys.join(", ")}" if unknown.any?
    end

    def build(payloads, profile, metadata, envelopes, deadline, options)
      Batch.build(@coordinator.crew.queue, profile, payloads, metadata, envelopes, options.fetch(:retry, true),
        deadline || @settings.deadline, options[:slice] || @settings.slice)
    end

    def parallel?(batch, wanted, reading)
      return false if inline? || !@coordinator.any_workers?

      wanted = @settings.parallel if wanted.nil?
      return wanted && batch.size.positive? unless wanted.nil?

      (@settings.min_payloads.nil? || batch.size >= @settings.min_payloads) &&
        @coordinator.crew.queue.pays?(batch, @coordinator.workers, reading)
    end

    def inline?
      @inline || Thread.current.thread_variable_get(:guildhall_inline)
    end

    def line_up(batch, source, deadline, options)
      be_born unless @born
      @coordinator.ensure_running
      pushed = push(batch, source, options) || overflow(batch, source, options)
      return unless pushed

      deadline ||= @settings.deadline
      @coordinator.expect_within(deadline) if deadline
      publish_dispatched(batch, source) if @instrumentation.listening?
    end

    def push(batch, source, options)
      @coordinator.crew.queue.push(batch, source, options.fetch(:priority, 1), options[:workers_only])
    end

    def publish_dispatched(batch, source)
      @coordinator.crew.queue.want_slices(true)
      @instrumentation.publish("pool.dispatched", payloads: batch.size, source:)
    end

    # There is no room for the batch.
    # @return [Boolean] whether it is in line now
    def overflow(batch, source, options)
      queue = @coordinator.crew.queue
      @instrumentation.publish("pool.saturated", queued: queue.payloads, payloads: batch.size, source:)
      return false if @settings.overflow == :defer

      limit = Clock.now + @settings.overflow_timeout
      while @settings.overflow == :wait && Clock.now < limit
        queue.wait_for_room(batch.size, limit - Clock.now)
        return true if push(batch, source, options)
      end
      raise PoolSaturatedError, "#{queue.payloads} payloads wait, and #{batch.size} more do not fit (capacity: #{@settings.capacity})"
    end

    def be_born
      Life.begin(self)
      @born = true
    end

    def stuck
      @coordinator.crew.members.count { |member| !member.seat.left? } + @coordinator.crew.abandoned.size
    end
  end
end
