# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # How far it is behind, without asking the broker. Any thread.
      module Behind
        # @return [Integer, nil] the offset of the message that is to be read next; nil before the first, unless it was found out
        attr_reader :position

        # What librdkafka knows of it.
        # @return [Integer, nil] the offset that the next message will get
        def end_offset
          @listener.client&.end_offset(@name, @number)
        end

        # @return [Boolean] whether it does nothing although there may be something to read, and nobody has asked for that
        def idle_behind?
          idle = @lock.synchronize { !@leaving && !@seek && !@scheduled && @batches.empty? && !resting? }
          idle && (@position.nil? || (end_offset || Float::INFINITY) > reached)
        end

        # Asks the broker whether there is something to read; of a partition of which nothing was read yet, where it stands.
        # Does not block: the listener's thread asks, and calls the block.
        # @yieldparam end_offset [Integer, nil] behind the last message that can be read; nil: there is none, or nobody knows
        # @return [void]
        def inquire
          @listener.request { yield(inquiry(@listener.client)) unless @leaving }
        end

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

        # What was read lately may have been no message, but the mark of a transaction.
        def reached
          [@position, @listener.client&.position(@name, @number)].compact.max
        end

        def inquiry(client)
          return (@position = client.start_of(@name, @number)) && nil unless @position

          last = client.resolve(@name, @number, :latest)
          last if idle_behind? && last > reached
        rescue Rdkafka::RdkafkaError => error
          @application.error(error, "watchdog", topic: @name, partition: @number)
          nil
        end

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
