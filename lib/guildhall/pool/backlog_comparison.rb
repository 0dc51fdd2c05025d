# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  class Pool
    # Finds out whether a topic with a backlog is consumed faster with workers, or where each payload is decoded by the
    # thread that asks for it. The pool's own decision cannot tell: it measures batches, and on a machine whose cores are all
    # busy (with the broker's or librdkafka's work, say) workers make batches faster and everything else slower.
    #
    # It begins without workers, which costs nothing, and measures how many bytes consumers read in a second, for as long as
    # they read without a break. Then it tries workers: what was left without them is read first, then the new way is measured.
    # Where one way is clearly faster, one epoch of each decides. Where they are close, which is when a wrong choice and a long
    # trial cost little, both take turns, because the rate of one epoch varies by a third. The faster way stays. The slower the
    # other one was, the later it is tried again, so that trials cost half a per cent of the time; but within seconds if the
    # way in use has become much slower or faster than it was.
    #
    # Used by all threads that read payloads.
    class BacklogComparison
      SMALL_BYTES = 65_536 # a batch: less does not count as a backlog; and what is read before it is noted
      MAX_GAP_SECONDS = 0.25 # without a payload read: more is no backlog
      SETTLING_SECONDS = 0.1 # after a change: what workers have decoded meanwhile is read, workers start, memory grows
      EPOCH_SECONDS = 0.2 # that a way is measured before it is judged
      MIN_GAIN = 1.03 # workers have to be that much faster: they take cores that others could use
      TRIAL_SHARE = 0.005 # of the time may be lost by trials
      PAUSES = 2.0..60.0 # seconds between trials
      MAX_EPOCHS = 8 # of each way in a trial: then the means decide
      CLEAR = 0.6 # one epoch of each decides if their rates differ by a factor of e to the 0.6; n epochs, by e to the 0.6 / n
      MAX_EPOCH_SECONDS = 5 # the way before it may have been slow to be read, with a consumer that waits
      CHANGED = 1.5 # factor: if the way in use gets faster or slower by it, the other way is tried again
      SMOOTHING = 0.25 # what the last epoch counts in the rate of the way in use
      private_constant :MAX_GAP_SECONDS, :SETTLING_SECONDS, :EPOCH_SECONDS, :MIN_GAIN, :TRIAL_SHARE, :PAUSES, :MAX_EPOCHS, :CLEAR,
        :MAX_EPOCH_SECONDS, :CHANGED, :SMOOTHING

      # Counts what is read of one batch. Asking for the time costs as much as a small payload: not each is noted.
      class Meter
        # @return [Boolean] whether workers are to have the batch
        attr_reader :workers

        # @param comparison [BacklogComparison]
        # @param workers [Boolean]
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
        # @return [void]
        def count
          return if (@count += 1) < @stride

          @count = 0
          @comparison.read(@workers, @bytes)
        end
      end

      def initialize
        @workers = @best = false
        @rate = @rate_when_chosen = nil # bytes a second, the best way; nil: not measured yet
        @rates = nil # of a trial: those that each way has reached; nil: no trial
        @last = @trial_began = @epoch_began = @next_trial = -Float::INFINITY
        @lock = Mutex.new
        restart(@last)
      end

      # A batch has come.
      # @param bytes [Integer] of its payloads
      # @param size [Integer] how many they are
      # @return [Meter, nil] that is to count those that are read; nil: the batch is small
      def meter(bytes, size)
        Meter.new(self, @workers, bytes, size) unless bytes < SMALL_BYTES
      end

      # Payloads were read.
      # @param workers [Boolean] whether workers had them
      # @param bytes [Integer]
      # @param now [Float] seconds
      # @return [void]
      def read(workers, bytes, now = Clock.now)
        @lock.synchronize { measure(workers, bytes, now) }
      end

      private

      def measure(workers, bytes, now)
        broken = now - @last > MAX_GAP_SECONDS
        @last = now
        return end_trial(now) if broken
        return give_up(now) if @rates && now - @epoch_began > MAX_EPOCH_SECONDS
        return settle(now) if workers != @workers
        return if now < @since

        @bytes += bytes
        end_epoch(now) if now - @since >= EPOCH_SECONDS
      end

      def give_up(now)
        @next_trial = now + PAUSES.end
        end_trial(now)
      end

      def end_trial(now)
        @rates = nil
        use(@best, now)
      end

      def use(workers, now)
        @workers = workers
        @epoch_began = now
        settle(now)
      end

      # What is read until it has settled does not count.
      def settle(now) = restart(now + SETTLING_SECONDS)

      def restart(from)
        @since = from
        @bytes = 0
      end

      def end_epoch(now)
        rate = @bytes / (now - @since)
        @epoch_began = now
        restart(now)
        return compare(rate, now) if @rates

        @rate = @rate ? @rate + ((rate - @rate) * SMOOTHING) : rate
        @rate_when_chosen ||= @rate
        try(now) if now >= @next_trial || (changed? && now - @trial_began > PAUSES.begin)
      end

      def changed?
        !@rate.between?(@rate_when_chosen / CHANGED, @rate_when_chosen * CHANGED)
      end

      def try(now)
        @trial_began = now
        @next_trial = now + PAUSES.begin # should the backlog end first
        @rates = {@best => [@rate], !@best => []}
        use(!@best, now)
      end

      # The closer the two ways are, the more epochs decide, and the less the trial costs.
      def compare(rate, now)
        @rates[@workers] << rate
        means = @rates.transform_values { |rates| rates.sum / rates.size }
        return choose(means, now) if decided?(means)

        use(!@workers, now) if @rates[@workers].size > @rates[!@workers].size
      end

      def decided?(means)
        count = @rates.values.map(&:size).min
        count >= MAX_EPOCHS || Math.log(means[true] / means[false] / MIN_GAIN).abs > CLEAR / count
      end

      def choose(means, now)
        @best = means[true] > means[false] * MIN_GAIN
        @rate = @rate_when_chosen = means[@best]
        @next_trial = now + pause(means.values.min / means.values.max, now - @trial_began)
        end_trial(now)
      end

      # @param ratio [Float] the slower way to the faster one
      # @param seconds [Float] that the trial took
      def pause(ratio, seconds)
        ((1 - ratio) * seconds / TRIAL_SHARE).clamp(PAUSES)
      end
    end
  end
end
