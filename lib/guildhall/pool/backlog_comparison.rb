# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/native"

module Guildhall
  class Pool
    # Finds out whether a topic with a backlog is consumed faster with workers, or where each payload is decoded by the
    # thread that asks for it. The pool's own decision cannot tell: it measures batches, and on a machine whose cores are all
    # busy (with the broker's or librdkafka's work, say) workers make batches faster and everything else slower.
    #
    # It measures how many bytes consumers read in a second, for as long as they read without a break. Then it tries the other way:
    # what was decoded before is read first, then the new way is measured, and so on in turn until it is clear which way is faster, as
    # {Comparison} has it. A trial goes on with the next backlog where this one ends; meanwhile the better way is used. If the way in
    # use has become much slower or faster than it was, the other one is tried again within seconds.
    #
    # It begins without workers, which costs nothing, and tries them at once; or with workers, where they are likely to pay: a short
    # backlog is over before a trial has won what it costs.
    #
    # Used by all threads that read payloads.
    class BacklogComparison
      SMALL_BYTES = 65_536 # a batch: less does not count as a backlog; and what is read before it is noted
      MAX_GAP_SECONDS = 0.25 # without a payload read: more is no backlog
      IDLE_SECONDS = 1 # more than consumers take for a batch besides reading it: the trial waits for the next backlog
      SETTLING_SECONDS = 0.1 # after a change: what workers have decoded meanwhile is read, workers start, memory grows
      EPOCH_SECONDS = 0.2 # that a way is measured before it is judged
      MIN_GAIN = 1.03 # workers have to be that much faster: they take cores that others could use
      MOST_PER_PAIR = 0.4 # evidence of a pair of epochs: one accident does not decide
      MAX_PAIRS = 8 # of epochs in a trial: the rate of one epoch varies by a third
      PAUSES = [2, 60].freeze # seconds between trials
      MOST_PAUSE = 50 # times all that was measured before
      LIKELY_SECONDS = 5 # of backlog, with workers that are likely to pay, before anything is tried: a trial takes some two seconds
      MAX_EPOCH_SECONDS = 5 # the way before it may have been slow to be read, with a consumer that waits
      private_constant :MAX_GAP_SECONDS, :IDLE_SECONDS, :SETTLING_SECONDS, :EPOCH_SECONDS, :MIN_GAIN, :MOST_PER_PAIR, :MAX_PAIRS,
        :PAUSES, :MOST_PAUSE, :LIKELY_SECONDS, :MAX_EPOCH_SECONDS

      # Counts what is read of one batch. Asking for the time costs as much as a small payload: not each is noted.
      class Meter
        # @return [Boolean] whether workers are to have the batch
        attr_reader :workers
        # @return [Integer] payloads that are noted together
        attr_reader :stride

        # @param bytes [Integer] of its payloads
        # @param size [Integer] how many they are
        def initialize(comparison, workers, bytes, size)
          @comparison = comparison
          @workers = workers
          @stride = (SMALL_BYTES * size / bytes).clamp(1, size)
          @bytes = @stride * bytes / size
          @count = 0
        end

        # A payload was read.
        def count
          return if (@count += 1) < @stride

          @count = 0
          count_stride
        end

        # In place of {#count}, where only the last payload of each run of {#stride} is counted.
        def count_stride = @comparison.read(@workers, @bytes)
      end

      # @param workers [Boolean] true: workers are likely to pay
      def initialize(workers: false)
        @ways = Comparison.new(MIN_GAIN, MOST_PER_PAIR, MAX_PAIRS, *PAUSES, MOST_PAUSE)
        @ways.start(workers)
        @likely = workers ? LIKELY_SECONDS : 0
        @last = -Float::INFINITY
        @lock = Mutex.new
        restart(@last)
        settle(@last)
      end

      # A batch has come.
      # @param bytes [Integer] of its payloads
      # @param size [Integer] how many they are
      # @param now [Float] seconds
      # @return [Meter, nil] that is to count those that are read; nil: the batch is small
      def meter(bytes, size, now = Clock.now)
        return if bytes < SMALL_BYTES

        Meter.new(self, now - @last > IDLE_SECONDS ? @ways.better_second? : @ways.second?, bytes, size)
      end

      # Payloads were read.
      # @param workers [Boolean] whether workers had them
      # @param now [Float] seconds
      def read(workers, bytes, now = Clock.now)
        @lock.synchronize { measure(workers, bytes, [now, @last].max) }
      end

      private

      def measure(workers, bytes, now)
        before = @last
        @last = now
        return interrupt(now - before, now) if now - before > MAX_GAP_SECONDS
        return give_up(now) if @ways.trying? && now - @epoch_began > MAX_EPOCH_SECONDS
        return settle(now) if workers != @ways.second?
        return if now < @since

        @bytes += bytes
        @seconds += now - [before, @since].max
        end_epoch(now) if @seconds >= EPOCH_SECONDS
      end

      # What was measured before a gap counts. Pauses are of the clock's time, also where nothing is read for most of it.
      def interrupt(gap, now)
        if gap.finite?
          @ways.pass(gap)
          @epoch_began += gap
        else
          @epoch_began = now
        end
        settle(now)
      end

      def give_up(now)
        @ways.break(PAUSES.last)
        restart(now)
        settle(now)
      end

      # What is read until it has settled does not count.
      def settle(now)
        @since = now + SETTLING_SECONDS
      end

      def restart(now)
        @epoch_began = now
        @bytes = 0
        @seconds = 0.0
      end

      def end_epoch(now)
        spent = now - @epoch_began
        @likely -= spent
        settle(now) if @likely <= 0 && @ways.add(@seconds / @bytes, spent)
        restart(now)
      end
    end
  end
end
