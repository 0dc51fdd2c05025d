# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # How far it is behind, without asking the broker. Any thread.
      module Behind
        # @return [Integer, nil] messages that are not done; nil while that is not known: before the first was read
        def lag
          last = end_offset
          following = @offsets.following || @first_offset
          last && following && [last - following, 0].max
        end

        # The age of the oldest message that is not done. Where it has not been read yet, its age is at most that.
        # @return [Float, nil] seconds; 0.0 when there is none; nil as for {#lag}
        def lag_seconds
          messages = lag
          return messages && 0.0 if messages.nil? || messages.zero?

          [Time.now - (oldest_time || [@caught_up_at, @newest_time].compact.max), 0.0].max
        end

        # Called now and then: that nothing was left a moment ago bounds the age of what comes next.
        # @return [Hash{Symbol=>Object}, nil] topic, partition, messages, seconds; nil while that is not known
        def measure_lag
          messages = lag or return
          @caught_up_at = Time.now if messages.zero?
          {topic: @name, partition: @number, messages:, seconds: lag_seconds}
        end

        private

        # Of the oldest message that was read and is not done.
        def oldest_time
          records = @lock.synchronize { @batches.first&.records } or return
          following = @offsets.following || 0
          records.bsearch { |record| record.offset >= following }&.timestamp
        end

        # By the listener, with what it has read.
        def note_read(records)
          first = records.first.offset
          @first_offset = first if @first_offset.nil? || first < @first_offset
          @position = records.last.offset + 1
          @newest_time = records.last.timestamp
        end
      end
    end
  end
end
