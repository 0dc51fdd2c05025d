# frozen_string_literal: true

require "etc"
require_relative "../queue"
require_relative "i18n_workaround"

module Guildhall
  class Pool
    # A worker Ractor's body: takes slices and runs them, until there is nothing more to take. Both are native; no Ruby
    # block, and no other thread, is involved between a payload and its result.
    # @api private
    module Worker
      # @param slices [Guildhall::Queue] what it tells of its slices, where somebody subscribes to them
      def self.start(number, slot, line, queue, slices)
        I18nWorkaround.apply
        quietly do
          Ractor.new(number, slot, line, queue, slices, name: "guildhall worker") { |*mine| Worker.run(*mine) }
        end
      end

      # In the worker Ractor. The slot is told of its end in `ensure`, because Thread.exit inside a task cannot be rescued.
      def self.run(number, slot, line, queue, slices)
        return unless slot.claim

        Thread.current.report_on_exception = false
        Ractor.current[:guildhall_logger] = line
        # A Ractor begins with the interrupt mask of the thread that made it, which may mask everything.
        Thread.handle_interrupt(Object => :immediate) do
          while slot.take
            slice = slot.work or next
            slices.try_push([number, *slice].freeze)
            queue.summon
          end
        end
      ensure
        slot.announce_exit
      end

      WARNING_LOCK = Mutex.new
      private_constant :WARNING_LOCK

      # Silences Ruby's warning that Ractors are experimental, for ours alone. The switch is global: without the lock, two threads could
      # leave it off.
      def self.quietly
        WARNING_LOCK.synchronize do
          before = Warning[:experimental]
          Warning[:experimental] = false
          yield
        ensure
          Warning[:experimental] = before
        end
      end
      private_class_method :quietly
    end

    # The workers of a pool: their queue, slots and Ractors. Used in the main Ractor.
    # @api private
    class WorkerSet
      WorkerHandle = Struct.new(:number, :slot, :ractor, :retired)
      MAX_SLICES = 1024 # told and not fetched yet; what comes then is dropped
      private_constant :MAX_SLICES

      # `abandoned`: workers that were given up, and are still at it; `counts_of_exited`: slices, payloads, failures and seconds busy
      # of those that have exited.
      attr_reader :queue, :slices, :handles, :abandoned, :counts_of_exited

      def initialize(capacity, log)
        @queue = FairQueue.build(capacity, Etc.nprocessors)
        @slices = Guildhall::Queue.new(MAX_SLICES)
        @log = log
        @handles = [].freeze
        @abandoned = [].freeze
        @counts_of_exited = [0, 0, 0, 0.0].freeze
        @started = 0
        @lock = Mutex.new
      end

      # Starts or retires workers until this number is reached.
      def resize(count)
        @queue.target_worker_count = count
        slots_to_fill = undisturbed do
          missing = count - @handles.count { |handle| !handle.retired && !handle.slot.exited? }
          retire(-missing) if missing.negative?
          Array.new([missing, 0].max) { prepare_slot }
        end
        slots_to_fill.each { |handle| start(handle) }
      ensure
        slots_to_fill&.each { |handle| handle.retired = true if handle.ractor.nil? && handle.slot.cancel_start }
      end

      # Yields each that has left; after the block it is a handle no more. If the block raises or the thread is killed, it is yielded
      # again.
      def each_exited
        @handles.select { |handle| handle.slot.exited? }.each do |handle|
          yield handle
          undisturbed { @handles = without(@handles, [handle]) }
        end
        undisturbed { @abandoned = without(@abandoned, @abandoned.select { |handle| handle.slot.exited? }) }
      end

      # Gives the payload that the worker has begun this outcome, and the worker up: it has no handle any more, but is still busy.
      # @return [Boolean] false when it has just been done
      def give_up(handle, index, since, failure)
        undisturbed do
          next false unless handle.slot.abandon(index, since, failure)

          @handles = (@handles - [handle]).freeze
          @abandoned = [*@abandoned, handle].freeze
          true
        end
      end

      # Workers end after the slice they have.
      def retire_all
        @queue.target_worker_count = 0
        undisturbed { retire(@handles.size) }
      end

      # @return [Integer] workers that have not ended
      def stuck = @handles.count { |handle| !handle.slot.exited? } + @abandoned.size

      private

      # Defers a kill or an interrupt of this thread: a worker that is not recorded, or recorded twice, would leave its slice
      # unprocessed when it dies.
      def undisturbed(&)
        Thread.handle_interrupt(Object => :never) { @lock.synchronize(&) }
      end

      def without(handles, exited)
        exited.each { |handle| @counts_of_exited = @counts_of_exited.zip(handle.slot.counts).map(&:sum).freeze }
        (handles - exited).freeze
      end

      def prepare_slot
        WorkerHandle.new(@started += 1, WorkerSlot.build(@queue), nil, false).tap { |handle| @handles = [*@handles, handle].freeze }
      end

      # Outside of the mask: a Ractor inherits it.
      def start(handle)
        handle.ractor = Worker.start(handle.number, handle.slot, @log.line(@queue), @queue, @slices)
      rescue StandardError => error
        @queue.target_worker_count = 0 # readers are not to wait for it
        warn("guildhall: a worker could not be started: #{error.class}: #{Redaction.message(error)}")
      end

      def retire(count)
        @handles.reject(&:retired).last(count).each do |handle|
          handle.retired = true
          handle.slot.retire
        end
      end
    end
  end
end
