# frozen_string_literal: true

require "guildhall/clock"
require_relative "../reading"

module Guildhall
  module Kafka
    module Broker
      # Reads ranges of partitions with the client of a {Session}, each to its end. Belongs to one thread; close it.
      # @api private
      class TopicReader
        # One partition: its topic and number, the offset behind its last record, the offset that is read next, and whether that one is
        # still to be written.
        PartitionCursor = Struct.new(:place, :last, :next_offset, :at_end, :queue)
        ROOM_MESSAGES = 2_000
        NO_END = (1 << 63) - 1 # an offset
        private_constant :PartitionCursor, :ROOM_MESSAGES, :NO_END

        # @param codec [Codec, nil] what records are decoded with
        # @param literal [String, nil] messages whose payload, JSON that can be decoded, does not contain it, are passed over; nil: none is
        # @param max_bytes [Integer] in one batch, about
        # @param silence [Numeric, nil] seconds of waiting for records that are there, after which {#read} raises; nil: it waits for them,
        #   however long
        def initialize(client, complaints, max_messages:, max_bytes:, codec: nil, literal: nil, silence: nil)
          @client = client
          @complaints = complaints
          @silence = silence
          @waited = 0.0
          @codec = codec
          @literal = literal
          @max_messages = max_messages
          @max_bytes = max_bytes
          @cursors = {}
        end

        # @param ranges [Hash{Array(String, Integer)=>Range}] by topic and partition, of offsets, without their ends; Float::INFINITY: there
        #   is no end
        def open(ranges)
          ranges = ranges.reject { |_, range| range.begin >= range.end }
          topics = ranges.group_by { |(topic, _), _| topic }
          @client.assign(topics.transform_values { |some| some.to_h { |(_, number), range| [number, range.begin] } })
          @reader = Reading::Reader.for(@client)
          ranges.each do |place, range|
            cursor = @cursors[place] = PartitionCursor.new(place, range.end, range.begin)
            cursor.queue = @reader.open(*place, cursor, @codec, @literal, [range.end, NO_END].min)
            allow(cursor)
          end
        end

        # Nothing is left to be read; something of this partition is.
        def finished? = @cursors.empty?
        def open?(place) = @cursors.key?(place)

        # Blocks until there is something, or the time is up.
        # @yieldparam place [Array(String, Integer)]
        # @yieldparam records [Array<Record>] empty where all were passed over
        # @yieldparam bytes [Integer]
        # @yieldparam decoded [Boolean] whether they were decoded, as far as they can be
        # @yieldparam passed [Array(Integer, Integer, Integer), nil] how many were passed over, their bytes, and the offset behind the last
        # @raise [KafkaError] also where nothing has come for too long, or brokers refuse the credentials meanwhile
        def read(wait_ms, &)
          began_at = Clock.now
          batches, errors = @client.with_handle { @reader.take(wait_ms, ROOM_MESSAGES, @max_bytes) }
          @waited = batches.empty? ? @waited + Clock.now - began_at : 0.0
          batches.each { |cursor, *batch| deliver(cursor, *batch, &) }
          errors.each { |error| note(error) }
          give_up if @silence
        end

        # Ends a {#read} that waits. Any thread, while it is not closed.
        def wake = @reader.wake

        def finish(place) = @cursors.delete(place)&.queue&.close

        def close
          @cursors.each_value { |cursor| cursor.queue.close }
          return unless @reader

          @reader.close
          @client.assign({})
        end

        private

        def give_up
          @complaints.raise_refused
          return unless @waited > @silence && (missing = @cursors.each_value.find { |cursor| !cursor.at_end })

          what = "no record of #{missing.place.join("/")} from offset #{missing.next_offset} on has come"
          raise KafkaError.of(Librdkafka::TIMED_OUT, what)
        end

        def allow(cursor) = cursor.queue.allow(@max_messages, @max_bytes)

        def deliver(cursor, records, bytes, decoded = nil, passed = nil)
          return unless @cursors[cursor.place].equal?(cursor)

          cursor.next_offset = [records.any? ? records.last.offset + 1 : 0, *passed&.last].max
          cursor.at_end = false
          if cursor.next_offset >= cursor.last
            count = records.index { |record| record.offset >= cursor.last } || records.size
            finish(cursor.place)
          else
            allow(cursor)
          end
          return if count&.zero? && passed.nil?

          yield cursor.place, records.first(count || records.size), bytes, decoded, passed
        end

        # The last offsets of a range may hold no message, only marks of transactions: then the end of the partition says that it was read.
        def note(error)
          if error.end_of_partition?
            cursor = @cursors[[error.topic, error.partition]] or return
            return error.offset >= cursor.last ? finish(cursor.place) : cursor.at_end = true
          end
          return if Errors.outage?(error.code)
          # librdkafka looks for the group's coordinator, although reading does not need it.
          return @complaints.client_failed(error.code, error.message) if Errors.symbol(error.code) == :group_authorization_failed

          raise KafkaError.from(error)
        end
      end
    end
  end
end
