# frozen_string_literal: true

require "etc"

module Guildhall
  class Pool
    # The workers of a pool: their queue, seats and Ractors. Used in the main Ractor.
    class Crew
      Member = Struct.new(:number, :seat, :ractor, :retired)

      # @return [FairQueue]
      attr_reader :queue

      # @return [Array<Member>]
      attr_reader :members

      # @return [Array<Member>] given up, and still at it
      attr_reader :abandoned

      # @param capacity [Integer] payloads
      # @param log [Log] that tasks write to
      def initialize(capacity, log)
        @queue = FairQueue.build(capacity, Etc.nprocessors)
        @log = log
        @members = [].freeze
        @abandoned = [].freeze
        @hired = 0
        @lock = Mutex.new
      end

      # Starts or retires workers until there are so many.
      # @param count [Integer]
      def resize(count)
        @queue.staff = count
        seats_to_fill = undisturbed do
          missing = count - @members.count { |member| !member.retired && !member.seat.left? }
          retire(-missing) if missing.negative?
          Array.new([missing, 0].max) { prepare_seat }
        end
        seats_to_fill.each { |member| start(member) }
      ensure
        seats_to_fill&.each { |member| member.retired = true if member.ractor.nil? && member.seat.vacate }
      end

      # Yields each that has left; after the block it is a member no more. Should the block, or the thread, come to grief,
      # it comes up again.
      # @yieldparam member [Member]
      def each_left
        @members.select { |member| member.seat.left? }.each do |member|
          yield member
          undisturbed { @members = (@members - [member]).freeze }
        end
        undisturbed { @abandoned = @abandoned.reject { |member| member.seat.left? }.freeze }
      end

      # The payload that the worker has begun then gets this outcome, and it is no member any more, but still busy.
      # @param member [Member]
      # @param index [Integer] the payload's
      # @param since [Integer] see Seat#overdue
      # @param failure [Failure]
      # @return [Boolean] false when it has just been done
      def give_up(member, index, since, failure)
        undisturbed do
          next false unless member.seat.abandon(index, since, failure)

          @members = (@members - [member]).freeze
          @abandoned = [*@abandoned, member].freeze
          true
        end
      end

      # No more work is taken in; workers end when they have done what waits.
      def close
        @queue.close
      end

      # Workers end after the slice they have.
      def retire_all
        @queue.staff = 0
        undisturbed { retire(@members.size) }
      end

      # @param limit [Numeric] on the monotonic clock
      # @return [Boolean]
      def wait_until_empty(limit)
        until @members.all? { |member| member.seat.left? }
          return false if Clock.now >= limit

          sleep(0.001)
        end
        true
      end

      private

      # Whoever kills or interrupts this thread has to wait: a worker that nobody knows of, or counts twice, would leave its
      # slice to nobody when it dies.
      def undisturbed(&)
        Thread.handle_interrupt(Object => :never) { @lock.synchronize(&) }
      end

      def prepare_seat
        Member.new(@hired += 1, Seat.build(@queue), nil, false).tap { |member| @members = [*@members, member].freeze }
      end

      # Not where nothing interrupts: a Ractor inherits that.
      def start(member)
        member.ractor = Worker.start(member.seat, @log)
      rescue StandardError => error
        @queue.staff = 0 # readers are not to wait for it
        warn("guildhall: a worker could not be started: #{error.class}: #{error.message}")
      end

      def retire(count)
        @members.reject(&:retired).last(count).each do |member|
          member.retired = true
          member.seat.retire
        end
        @queue.wake_workers
      end
    end
  end
end
