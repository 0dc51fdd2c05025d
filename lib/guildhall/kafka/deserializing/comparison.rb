# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Deserializing
      # Finds out whether a topic with a backlog is consumed faster with workers, or where each payload is decoded by the
      # thread that asks for it. The pool cannot know: it measures batches, and on a machine whose cores are all busy
      # (with the broker's or librdkafka's work, say) workers make batches faster and everything else slower.
      #
      # While there is a backlog, batches come as fast as they are consumed. So their bytes are added up for a while, and
      # then for a while the other way; the faster way stays, and is compared again now and then. Batches that are small,
      # or rare, do not count as a backlog: the pool decides.
      #
      # Used by the listener, or, where batches are prepared first, by several runners at once.
      class Comparison
        SMALL_BYTES = 65_536 # a batch: less does not count as a backlog
        MAX_GAP_SECONDS = 0.1 # seconds between two batches: more is none either
        WARM_UP_SECONDS = 0.6 # seconds until a backlog is measured: workers start, queues fill, memory grows
        SETTLING_SECONDS = 0.2 # seconds after a change: batches of the way before are still consumed
        EPOCH_SECONDS = 0.3 # seconds that a way is measured
        MIN_GAIN = 1.03 # workers have to be that much faster: they take cores that others could use
        FIRST_PAUSE_EPOCHS = 24 # epochs until the next comparison, doubled as long as the way stays the same
        MAX_PAUSE_EPOCHS = 640
        private_constant :SMALL_BYTES, :MAX_GAP_SECONDS, :WARM_UP_SECONDS, :SETTLING_SECONDS, :EPOCH_SECONDS, :MIN_GAIN,
          :FIRST_PAUSE_EPOCHS, :MAX_PAUSE_EPOCHS

        # @param workers [Boolean] the way to begin with
        def initialize(workers: true)
          @workers = @best = workers
          @rates = {}
          @pause = FIRST_PAUSE_EPOCHS
          @until_trial = 0
          @last = -Float::INFINITY
          @lock = Mutex.new
          restart(@last)
        end

        # A batch has come.
        # @param bytes [Integer] of its payloads
        # @param now [Float] seconds
        # @return [Boolean, nil] whether workers are to have it; nil: as the pool thinks
        def parallel(bytes, now = Clock.now)
          return if bytes < SMALL_BYTES

          @lock.synchronize { note(bytes, now) }
        end

        private

        def note(bytes, now)
          backlog = now - @last <= MAX_GAP_SECONDS
          @last = now
          backlog ? measure(bytes, now) : restart(now + WARM_UP_SECONDS)
          @workers
        end

        def restart(from)
          @since = from
          @bytes = 0
        end

        def measure(bytes, now)
          return if now < @since

          @bytes += bytes
          end_epoch(now) if now - @since >= EPOCH_SECONDS
        end

        def end_epoch(now)
          @rates[@workers] = @bytes / (now - @since)
          before = @workers
          @workers = next_way
          restart(@workers == before ? now : now + SETTLING_SECONDS)
        end

        def next_way
          return compare if @workers != @best

          (@until_trial -= 1).positive? ? @best : !@best
        end

        # The two last epochs.
        def compare
          faster = @rates[true] > @rates[false] * MIN_GAIN
          @pause = faster == @best ? [@pause * 2, MAX_PAUSE_EPOCHS].min : FIRST_PAUSE_EPOCHS
          @until_trial = @pause
          @best = faster
        end
      end
    end
  end
end
