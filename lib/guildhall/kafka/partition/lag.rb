# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # How far the partition was read, and how far it is behind, without asking the broker. Any thread.
      class Lag
        def initialize(partition, offsets, inbox, listener, runtime)
          @partition = partition
          @offsets = offsets
          @inbox = inbox
          @listener = listener
          @runtime = runtime
          @caught_up_at = Time.now
        end

        # @return [Integer, nil] the offset of the message that is to be read next; nil before the first, unless it was found out
        def position = @offsets.read_to

        # @return [Integer, nil] the offset that the next message will get, as far as librdkafka knows
        def end_offset = client&.end_offset(name, number)

        # @return [Boolean] whether it does nothing although there may be something to read, and no request for that
        def idle_behind?
          @inbox.idle? && (position.nil? || denied? || (end_offset || Float::INFINITY) > reached)
        end

        # Asks the broker whether there is something to read; of a partition of which nothing was read yet, its position.
        # Does not block: the listener's thread asks, and calls the block.
        # @yieldparam end_offset [Integer, nil] behind the last message that can be read; nil: there is none, or it is unknown
        def inquire
          @listener.request { yield((inquiry if answered?)) unless @inbox.leaving? }
        end

        # @return [Integer, nil] messages that are not done; nil while that is not known: before the first was read, while its broker does
        #   not answer, and where it may not be read
        def messages
          return if denied? || !answered?

          last = end_offset
          next_offset = @offsets.position || @inbox.records&.first&.offset
          return unless last && next_offset

          # Marks of transactions that were read behind the last message that is done are no lag.
          next_offset = [next_offset, reached].max if position && next_offset >= position
          [last - next_offset - @offsets.size_beyond, 0].max
        end

        # The age of the oldest message that is not done. Where it has not been read yet, its age is at most that.
        # @return [Float, nil] seconds; 0.0 when there is none; nil as for {#messages}
        def seconds
          count = messages
          return count && 0.0 if count.nil? || count.zero?

          [Time.now - (oldest_time || [@caught_up_at, @partition.newest_time].compact.max), 0.0].max
        end

        # Called now and then: that nothing was left a moment ago bounds the age of what comes next.
        # @return [Hash{Symbol=>Object}, nil] topic, partition, messages, seconds, paused, blocked (why dead letters cannot be sent, or
        #   nil); nil while that is not known
        def measure
          count = messages or return
          @caught_up_at = Time.now if count.zero?
          {topic: name, partition: number, messages: count, seconds:, paused: @inbox.paused?, blocked: @partition.blocked&.to_s}
        end

        # @return [Hash{Symbol=>Object}] the partition that {#measure} is about
        def place = {topic: name, partition: number}

        private

        def denied? = !@partition.denied.nil?
        def answered? = @listener.answers.from?(name, number)
        def client = @listener.client
        def name = @partition.name
        def number = @partition.number

        # The position of librdkafka counts, too: what was read last may have been the mark of a transaction, not a message.
        def reached = [position, client&.position(name, number)].compact.max

        def inquiry
          return (@offsets.read_to = client.start_of(name, number)) && nil unless position

          last = client.resolve(name, number, :latest)
          last if idle_behind? && (denied? || last > reached)
        rescue Rdkafka::RdkafkaError => error
          @runtime.error(error, "watchdog", topic: name, partition: number)
          nil
        end

        # @return [Time, nil] of the oldest message that was read and is not done
        def oldest_time
          parked = @partition.parked_keys&.oldest_time and return parked
          records = @inbox.records or return
          next_offset = @offsets.position || 0
          records.bsearch { |record| record.offset >= next_offset }&.timestamp
        end
      end
    end
  end
end
