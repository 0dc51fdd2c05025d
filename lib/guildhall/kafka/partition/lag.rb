# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # How far the partition was read, and how far it is behind, without asking the broker. Any thread.
      # @api private
      class Lag
        def initialize(partition, listener)
          @partition = partition
          @progress = partition.progress
          @inbox = partition.inbox
          @listener = listener
          @caught_up_at = Time.now
        end

        # @return [Integer, nil] the offset that the next message will get, as far as librdkafka knows
        def end_offset = client&.end_offset(name, number)

        # Whether it does nothing although there may be something to read, and no request for that.
        def idle_behind? = @inbox.idle? && (read_to.nil? || denied? || (end_offset || Float::INFINITY) > reached)

        # Asks the broker whether there is something to read; of a partition of which nothing was read yet, its position.
        # Does not block: the listener's thread asks, and calls the block.
        # @yieldparam end_offset [Integer, nil] behind the last message that can be read; nil: there is none, or it is unknown
        def inquire = @listener.request { yield((ask if answered?)) unless @inbox.leaving? }

        # @return [Integer, nil] nil while it is not known: before the first was read, while its broker does not answer, and where it may
        #   not be read
        def messages
          return if denied? || !answered?

          last = end_offset
          next_offset = @progress.commit_position || @inbox.records&.first&.offset
          return unless last && next_offset

          # Marks of transactions that were read behind the last message that is done are no lag.
          next_offset = [next_offset, reached].max if read_to && next_offset >= read_to
          [last - next_offset - @progress.size_beyond, 0].max
        end

        # Called now and then: that nothing was left a moment ago bounds the age of what comes next.
        # @return [Hash{Symbol=>Object}, nil] as in the event `lag.measured`; nil while it is not known
        def measure
          count = messages or return
          @caught_up_at = Time.now if count.zero?
          {**@partition.place, messages: count, seconds: age(count), paused: @inbox.paused?, blocked: @partition.blocked&.to_s}
        end

        # For {Snapshot}. What a client that is just being closed does not tell is not known.
        # @return [Array(Integer | nil, Integer | nil, Float | nil)] {#end_offset}, {#messages} and {#age}
        def view
          count = messages
          [end_offset, count, age(count)]
        rescue Rdkafka::BaseError
          [nil, nil, age(nil)]
        end

        # @param count [Integer, nil] as {#messages} has answered
        # @return [Float, nil] seconds, of the oldest message that is not done; where it has not been read yet, it is at most as old. nil:
        #   not known
        def age(count)
          return 0.0 if count&.zero?

          time = oldest_time || (count && [@caught_up_at, @partition.newest_time].compact.max)
          time && [Time.now - time, 0.0].max
        end

        private

        def denied? = !@partition.denied.nil?
        def read_to = @progress.read_to
        def answered? = @listener.answers.from?(name, number)
        def client = @listener.client
        def name = @partition.name
        def number = @partition.number

        # The position of librdkafka counts, too: what was read last may have been the mark of a transaction, not a message.
        def reached = [read_to, client&.position(name, number)].compact.max

        def ask
          unless read_to
            @progress.read_to = client.start_of(name, number)
            return
          end
          last = client.resolve(name, number, :latest)
          last if idle_behind? && (denied? || last > reached)
        rescue Rdkafka::RdkafkaError => error
          @partition.reports.error(error, "watchdog")
          nil
        end

        # @return [Time, nil] of the oldest message that was read and is not done
        def oldest_time
          parked = @partition.parked_keys&.oldest_time and return parked
          records = @inbox.records or return
          next_offset = @progress.commit_position || 0
          records.bsearch { |record| record.offset >= next_offset }&.timestamp
        end
      end
    end
  end
end
