# frozen_string_literal: true

module Guildhall
  class Pool
    # The workers of a pool: their queue, seats and Ractors. All methods are called in the main Ractor; those that start
    # or replace workers by one thread at a time.
    class Crew
      Member = Struct.new(:seat, :ractor, :retired)

      # @return [FairQueue]
      attr_reader :queue

      # @param capacity [Integer] payloads
      def initialize(capacity)
        @queue = FairQueue.build(capacity)
        @members = [].freeze
        @abandoned = [].freeze
        @lock = Mutex.new
      end

      # @return [Array<Member>]
      attr_reader :members

      # @return [Array<Member>] given up, and still at it
      attr_reader :abandoned

      # Starts or retires workers until there are so many.
      # @param count [Integer]
      def resize(count)
        @lock.synchronize do
          missing = count - @members.count { |member| !member.retired }
          @members = [*@members, *Array.new(missing) { hire }].freeze if missing.positive?
          retire(-missing) if missing.negative?
        end
      end

      # @return [Array<Member>] those that have left since the last call; they are members no more
      def take_away_the_left
        @lock.synchronize do
          left, @members = @members.partition { |member| member.seat.left? }.map(&:freeze)
          @abandoned = @abandoned.reject { |member| member.seat.left? }.freeze
          left
        end
      end

      # @param member [Member] is no member any more, but still busy
      def give_up(member)
        @lock.synchronize do
          @members = (@members - [member]).freeze
          @abandoned = [*@abandoned, member].freeze
        end
      end

      # No more work is taken in; workers end when they have done what waits.
      def close
        @queue.close
      end

      # Workers end after the slice they have.
      def retire_all
        @lock.synchronize { retire(@members.size) }
      end

      private

      def hire
        seat = Seat.build(@queue)
        Member.new(seat, Worker.start(seat))
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
