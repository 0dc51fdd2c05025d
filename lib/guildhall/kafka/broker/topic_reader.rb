# frozen_string_literal: true

require_relative "../reading"

module Guildhall
  module Kafka
    module Broker
      # Reads ranges of partitions with the client of a {Session}, each to its end. Belongs to one thread; close it.
      class TopicReader
        # One partition: its topic and number, and the offset behind its last record.
        PartitionCursor = Struct.new(:place, :last, :queue)
        ROOM_MESSAGES = 2_000
        private_constant :PartitionCursor, :ROOM_MESSAGES

        # @param codec [Codec, nil] what records are decoded with
        # @param max_bytes [Integer] in one batch, about
        # @yieldparam code [Integer] of an error of the client's group, which does not matter for reading
        def initialize(client, max_messages:, max_bytes:, codec: nil, &on_group_error)
          @client = client
          @on_group_error = on_group_error
          @codec = codec
          @max_messages = max_messages
          @max_bytes = max_bytes
          @cursors = {}
        end

        # Does not block.
        # @param ranges [Hash{Array(String, Integer)=>Range}] by topic and partition, of offsets, without their ends; Float::INFINITY: there
        #   is no end
        def open(ranges)
          ranges = ranges.reject { |_, range| range.begin >= range.end }
          topics = ranges.group_by { |(topic, _), _| topic }
          @client.assign(topics.transform_values { |some| some.to_h { |(_, number), range| [number, range.begin] } })
          @reader = Reading::Reader.for(@client)
          ranges.each do |place, range|
            cursor = @cursors[place] = PartitionCursor.new(place, range.end)
            cursor.queue = @reader.open(*place, cursor, @codec)
            allow(cursor)
          end
        end

        # Nothing is left to be read.
        def finished? = @cursors.empty?

        # Something of this partition is left to be read.
        def open?(place) = @cursors.key?(place)

        # Blocks until there is something, or the time is up.
        # @yieldparam records [Array<Record>] of one partition
        # @raise [KafkaError]
        def read(wait_ms, &)
          batches, errors = @client.with_handle { @reader.take(wait_ms, ROOM_MESSAGES, @max_bytes) }
          batches.each { |cursor, *batch| deliver(cursor, *batch, &) }
          errors.each { |error| note(error) }
        end

        # Reads no more of a partition.
        def finish(place) = @cursors.delete(place)&.queue&.close

        def close
          @cursors.each_value { |cursor| cursor.queue.close }
          return unless @reader

          @reader.close
          @client.assign({})
        end

        private

        def allow(cursor) = cursor.queue.allow(@max_messages, @max_bytes)

        def deliver(cursor, records, bytes, documents = nil)
          return unless @cursors[cursor.place].equal?(cursor)

          if records.last.offset >= cursor.last - 1
            count = records.index { |record| record.offset >= cursor.last } || records.size
            finish(cursor.place)
          else
            allow(cursor)
          end
          yield cursor.place, records.first(count || records.size), bytes, documents&.first(count || records.size) unless count&.zero?
        end

        # The last offsets of a range may hold no message, only marks of transactions: then the end of the partition says that it was read.
        def note(error)
          if error.end_of_partition?
            cursor = @cursors[[error.topic, error.partition]]
            return cursor && error.offset >= cursor.last ? finish(cursor.place) : nil
          end
          return if Errors.outage?(error.code)
          # librdkafka looks for the group's coordinator, although reading does not need it.
          return @on_group_error&.call(error.code, error.message) if Errors.symbol(error.code) == :group_authorization_failed

          raise KafkaError.from(error)
        end
      end
    end
  end
end
