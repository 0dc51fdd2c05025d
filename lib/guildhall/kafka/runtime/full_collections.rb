# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../reporting/process_memory"

module Guildhall
  module Kafka
    class Runtime
      # Puts off Ruby's full collections and runs them itself. A full one goes through all objects while every thread and Ractor stands
      # still, and Ruby runs them often where batches of Hashes wait to be consumed: these live long enough to count as old. While they are
      # put off nothing grows old, and Ruby's minor collections, which go on as ever, free the Hashes. They cannot free what had grown old
      # before, nor what refers to it, so that memory grows: a full collection is run while no consumer is at work, and at the latest when
      # that growth is as large as it may be, or after a time. Where memory is short, all is left to Ruby.
      #
      # Has a thread of its own, which waits for nothing but its turn among the others.
      # @api private
      class FullCollections
        PACE_SECONDS = 0.25 # between two looks
        # From one to the next at the latest, while no consumer is at work; twice as long where there is always one. Doubles from the first
        # on: what the application loads with its first batches grows old by a full collection, and is gone through by each minor one until
        # then. The last also bounds how long a dropped file or socket stays open.
        FIRST_SECONDS = 10
        MOST_SECONDS = 600
        LEAST_GROWTH = 268_435_456 # bytes that a process may grow by, however small it is, where no limit is nearer
        TIGHT = 8 # of the limit's parts the last one is left to Ruby: it then decides as without this setting
        IDLE_PART = 4 # growth by this part of what it may be is worth a collection while nobody waits for it
        PAGE_BYTES = GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_SIZE, 65_536)
        private_constant :PACE_SECONDS, :FIRST_SECONDS, :MOST_SECONDS, :LEAST_GROWTH, :TIGHT, :IDLE_PART, :PAGE_BYTES

        # @return [String, nil] why this Ruby cannot; nil: it can
        def self.refusal
          return "each Ractor of this Ruby has a collector of its own" if COLLECTOR_PER_RACTOR
          return if GC.config.key?(:rgengc_allow_full_mark)

          "its collector (#{GC.config[:implementation]}) does not let full collections be put off"
        end

        # @return [Symbol] :deferred; :left_to_ruby: memory is short, or it does not run
        attr_reader :state
        # @return [Hash{Symbol=>Integer}] the full collections that were run, by their reason: :idle, :memory or :time
        attr_reader :counts
        # seconds: that they took; put_off: how often Ruby would have run one.
        attr_reader :seconds, :put_off

        # @param memory [Memory]
        # @param gc [Module] GC
        # @yieldreturn [Boolean] whether no consumer is at work
        def initialize(runtime, memory:, gc: GC, clock: Clock, &idle)
          @runtime = runtime
          @memory = memory
          @gc = gc
          @clock = clock
          @idle = idle
          @stopped = Thread::Queue.new
          @state = :left_to_ruby
          @counts = {idle: 0, memory: 0, time: 0}
          @seconds = 0.0
          @put_off = @reported = 0
          @interval = FIRST_SECONDS
          @most = [@memory.resident.to_i, LEAST_GROWTH].max
          after_full
        end

        def start
          Process.singleton_class.prepend(AfterFork)
          switch(:deferred)
          @thread = Thread.new do
            ErrorBoundary.run(->(error) { failed(error) }) { look_again until @stopped.closed? }
          ensure # also if it is killed: without it nothing bounds the memory
            switch(:left_to_ruby)
          end
          @thread.name = "guildhall collections"
          self
        end

        def include?(thread) = thread.equal?(@thread)

        def stop
          @stopped.close
          @thread&.join(1)
          switch(:left_to_ruby)
        end

        # Runs a full collection if one is due. Used by one thread.
        def look
          after_full if @gc.stat(:major_gc_count) != @majors # the application has run one
          note
          left = @memory.left
          return if follow(left) == :left_to_ruby

          reason = due(left)
          collect(reason) if reason
        end

        private

        # Whoever hears of the error may hang.
        def failed(error)
          switch(:left_to_ruby)
          @runtime.error(error, "garbage_collection")
        end

        def look_again
          look
          @stopped.pop(timeout: PACE_SECONDS)
        end

        # Takes this moment as the one from which memory grows.
        def after_full
          @majors = @gc.stat(:major_gc_count)
          @pages = @gc.stat(:heap_allocated_pages)
          @last = @clock.now
        end

        def note
          count = @gc.count
          @put_off += 1 if @state == :deferred && count != @seen && @gc.latest_gc_info(:need_major_by)
          @seen = count
        end

        # @param left [Integer, nil] bytes of the limit; nil: there is none
        def follow(left)
          return @state unless left

          parts = left * TIGHT / @memory.limit
          switch(:left_to_ruby, left) if parts < 1
          switch(:deferred, left) if parts > 1 # not at once: else it would change with each batch
          @state
        end

        def due(left)
          growth = ((@gc.stat(:heap_allocated_pages) - @pages) * PAGE_BYTES) + @gc.stat(:oldmalloc_increase_bytes)
          allowed = [@most, *left&./(2)].min
          since = @clock.now - @last
          return :memory if growth >= allowed
          return :time if since >= @interval * 2
          return unless growth >= allowed / IDLE_PART || since >= @interval

          :idle if @idle.call
        end

        def collect(reason)
          before = @gc.total_time
          @gc.start(immediate_sweep: reason == :idle) # else it is swept bit by bit by those who need the room
          seconds = (@gc.total_time - before) / 1e9
          @counts = {**@counts, reason => @counts.fetch(reason) + 1}
          @seconds += seconds
          @interval = [@interval * 2, MOST_SECONDS].min
          after_full
          publish("garbage_collection.run", reason:, seconds:, put_off: @put_off - @reported)
          @reported = @put_off
        end

        def switch(state, left = nil)
          return if @state == state

          @gc.config(rgengc_allow_full_mark: state == :left_to_ruby)
          @state = state
          publish("garbage_collection.switched", state:, left:, limit: @memory.limit)
        end

        # In another thread: a subscriber may hang.
        def publish(name, **payload)
          @runtime.timer&.after(0) { @runtime.publish(name, **payload) }
        end

        # What the process may take, in bytes: its part of the control group's limit and of the machine's memory, and its own limit.
        # @api private
        class Memory
          # @return [Integer, nil] nil: there is no limit
          attr_reader :limit

          # @param processes [Integer] that share the limit of the control group, and the machine
          # @param own [Integer, nil] the limit of this process alone
          def initialize(processes: 1, own: nil)
            @processes = processes
            @own = own
            @limit = [*shared.map { |limit, _| limit / processes }, *own].min
          end

          def resident = Reporting::ProcessMemory.resident

          # @return [Integer, nil] of the limit; nil: there is none
          def left
            own = @own - (resident || @own) if @own
            [*shared.map { |limit, used| (limit - (used || limit)) / @processes }, *own].min
          end

          private

          def shared = [Reporting::ProcessMemory.limit_and_used, Reporting::ProcessMemory.machine].select(&:first)
        end

        # A process that the application forks has no thread that bounds its memory.
        module AfterFork
          def _fork
            super.tap { |pid| GC.config(rgengc_allow_full_mark: true) if pid.zero? }
          end
        end
        private_constant :AfterFork
      end
    end
  end
end
