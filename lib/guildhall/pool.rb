# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require_relative "callable"
require_relative "dropped"
require_relative "instrumentation"
require_relative "failure"
require "guildhall/native"
require_relative "pool/settings"
require_relative "pool/profiles"
require_relative "pool/worker"
require_relative "pool/crew"
require_relative "pool/coordinator"
require_relative "pool/reader"
require_relative "pool/future"

module Guildhall
  # Runs tasks on payloads in worker Ractors, or in the caller's thread where that is faster.
  #
  # Used in the main Ractor, by any number of threads and fibers.
  class Pool
    EVENTS = %w[pool.worker_died].freeze

    @default_lock = Mutex.new

    # The process's own pool, with default settings; made when it is first asked for.
    # @return [Pool]
    def self.default
      @default || @default_lock.synchronize { @default ||= new }
    end

    # @return [Settings]
    attr_reader :settings

    # @return [Instrumentation] see {EVENTS}
    attr_reader :instrumentation

    # Starts nothing yet: the workers start with the first batch that is given to them.
    # @param settings [Hash] see {Settings#initialize}
    # @raise [ConfigurationError] naming every setting that is wrong
    def initialize(**settings)
      @settings = Settings.new(**settings)
      @instrumentation = Instrumentation.new(EVENTS)
      @profiles = Profiles.new
      @lock = Mutex.new
      @closed = false
      @crew = Crew.new(@settings.capacity)
      @coordinator = Coordinator.new(@crew, @settings, @instrumentation.method(:publish))
      @started = false
    end

    # Takes a batch in. Returns at once; decodes and runs nothing.
    # @param payloads [Array] Strings (unfrozen ones are copied) or other shareable objects
    # @param task [#call] shareable; takes `(payload)` or `(payload, metadata)`
    # @param source [Object, nil] batches of one source stay in line, sources take turns; nil: a source of its own
    # @param metadata [Array, nil] one shareable object a payload
    # @param envelopes [Boolean] payloads are shareable objects with `raw_payload`, and their own metadata
    # @param parallel [Boolean, nil] true: workers; false: whoever reads the results; nil: as it pays
    # @param deadline [Numeric, nil] seconds that one payload may take on a worker; nil: the pool's setting
    # @param options [Hash] `retry:` whether a payload that a worker died with runs once more (default true)
    # @return [Future]
    # @raise [NotShareableError] naming the path to what cannot be shared
    # @raise [PoolClosedError]
    def dispatch(payloads, task, source: nil, metadata: nil, envelopes: false, parallel: nil, deadline: nil, **options)
      raise PoolClosedError, "this pool has been shut down" if @closed

      check(payloads, metadata)
      batch = Batch.build(@profiles[task], payloads, metadata, envelopes, options.fetch(:retry, true),
        deadline || @settings.deadline, options.fetch(:slice, @settings.slice))
      line_up(batch, source) if parallel?(batch, parallel)
      Future.new(self, batch)
    end

    # @param payloads [Array]
    # @param task [#call]
    # @param options [Hash] see {#dispatch}
    # @return [Array] values in order, frozen
    # @raise the first payload's failure, once all are done
    def map(payloads, task, **options)
      dispatch(payloads, task, **options).value
    end

    # As {#map}, with Failures in their places.
    # @return [Array] frozen
    def results(payloads, task, **options)
      dispatch(payloads, task, **options).results
    end

    # @return [Hash{Symbol=>Integer}]
    def stats
      seats = @crew.members.map(&:seat)
      {workers: @crew.queue.seated, busy: seats.count(&:busy?), queued: @crew.queue.payloads}
    end

    # Ends the workers. What was not done stays readable: whoever reads it runs it.
    # @param timeout [Numeric] seconds in which this returns, whatever the workers do
    # @return [Boolean] whether all workers have ended
    def shutdown(timeout: 10)
      limit = now + timeout
      @closed = true
      @crew.close
      sleep(0.001) until @crew.members.all? { |member| member.seat.left? } || now >= limit
      @crew.retire_all
      @coordinator.stop([limit - now, 0].max)
      @crew.members.all? { |member| member.seat.left? }
    end

    # Brings the coordinator back if something has killed it. Called by whoever waits.
    # @api private
    def supervise
      @coordinator.ensure_running if @started
    end

    # @return [String]
    def inspect
      "#<Guildhall::Pool #{@settings.workers} workers#{" closed" if @closed}>"
    end

    private

    def check(payloads, metadata)
      raise Guildhall::ArgumentError, "payloads must be an Array, not a #{payloads.class}" unless payloads.is_a?(Array)
      return if metadata.nil? || (metadata.is_a?(Array) && metadata.size == payloads.size)

      raise Guildhall::ArgumentError, "metadata must be an Array as long as payloads (#{payloads.size})"
    end

    def parallel?(batch, wanted)
      wanted = @settings.parallel if wanted.nil?
      return wanted && @settings.workers.positive? && batch.size.positive? unless wanted.nil?

      batch.size >= (@settings.min_payloads || 1) && @crew.queue.pays?(batch, @settings.workers)
    end

    def line_up(batch, source)
      start unless @started
      @coordinator.ensure_running
      @crew.queue.push(batch, source, 1)
    end

    def start
      @lock.synchronize do
        next if @started

        @crew.resize(@settings.workers)
        @started = true
      end
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
