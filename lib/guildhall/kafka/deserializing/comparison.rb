# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Deserializing
      # Finds out whether a topic with a backlog is consumed faster with workers, or where each payload is decoded by the
      # thread that asks for it. The pool cannot know: it measures batches, and on a machine whose cores are all busy
      # (with the broker's or librdkafka's work, say) workers make batches faster and everything else slower.
      #
      # It begins without workers, which costs nothing, and measures how many bytes consumers read in a second, for as long as
      # they read without a break. Then it tries workers: what was left without them is read first, then the new way is measured,
      # and the faster one stays. The slower a way was, the later it is tried again, so that trials cost half a per cent of
      # the time; but within seconds if the way in use has become much slower or faster than it was.
      #
      # Used by all threads that read payloads.
      class Comparison
        SMALL_BYTES = 65_536 # a batch: less does not count as a backlog; and what is read before it is noted
        MAX_GAP_SECONDS = 0.25 # without a payload read: more is no backlog
        SETTLING_SECONDS = 0.1 # after a change: what workers have decoded meanwhile is read, workers start, memory grows
        EPOCH_SECONDS = 0.2 # that a way is measured before it is judged
        MIN_GAIN = 1.03 # workers have to be that much faster: they take cores that others could use
        TRIAL_SHARE = 0.005 # of the time may be lost by trials
        PAUSES = 2.0..60.0 # seconds between trials
        MAX_TRIAL_SECONDS = 5 # the way before it may have been slow to be read, with a consumer that waits
        CHANGED = 1.5 # factor: if the way in use gets faster or slower by it, the other way is tried again
        SMOOTHING = 0.25 # what the last epoch counts in the rate of the way in use
        private_constant :MAX_GAP_SECONDS, :SETTLING_SECONDS, :EPOCH_SECONDS, :MIN_GAIN, :TRIAL_SHARE, :PAUSES, :MAX_TRIAL_SECONDS,
          :CHANGED, :SMOOTHING

        # Counts what is read of one batch. Asking for the time costs as much as a small payload: not each is noted.
        class Meter
          # @return [Boolean] whether workers are to have the batch
          attr_reader :workers

          # @param comparison [Comparison]
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
          @last = @trial_began = @next_trial = -Float::INFINITY
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
          return use(@best, now) if broken
          return give_up(now) if trial? && now - @trial_began > MAX_TRIAL_SECONDS
          return use(@workers, now) if workers != @workers
          return if now < @since

          @bytes += bytes
          end_epoch(now) if now - @since >= EPOCH_SECONDS
        end

        def give_up(now)
          @next_trial = now + PAUSES.end
          use(@best, now)
        end

        # What is read until it has settled does not count.
        def use(workers, now)
          @workers = workers
          restart(now + SETTLING_SECONDS)
        end

        def restart(from)
          @since = from
          @bytes = 0
        end

        def trial? = @workers != @best

        def end_epoch(now)
          rate = @bytes / (now - @since)
          restart(now)
          return judge(rate, now) if trial?

          @rate = @rate ? @rate + ((rate - @rate) * SMOOTHING) : rate
          @rate_when_chosen ||= @rate
          try(now) if now >= @next_trial || (changed? && now - @trial_began > PAUSES.begin)
        end

        def changed?
          !@rate.between?(@rate_when_chosen / CHANGED, @rate_when_chosen * CHANGED)
        end

        def try(now)
          @trial_began = now
          @next_trial = now + PAUSES.begin
          use(!@best, now)
        end

        def judge(rate, now)
          rates = {@best => @rate, @workers => rate}
          @best = rates[true] > rates[false] * MIN_GAIN
          @rate = @rate_when_chosen = rates[@best]
          @next_trial = now + pause(rates.values.min / rates.values.max, now - @trial_began)
          use(@best, now) if @workers != @best
        end

        # @param ratio [Float] the slower way to the faster one
        # @param seconds [Float] that a trial takes
        def pause(ratio, seconds)
          ((1 - ratio) * seconds / TRIAL_SHARE).clamp(PAUSES)
        end
      end
    end
  end
end
