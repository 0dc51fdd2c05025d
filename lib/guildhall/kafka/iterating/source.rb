# frozen_string_literal: true

require_relative "../connection/client"
require_relative "../reading/reader"

module Guildhall
  module Kafka
    module Iterating
      # Reads some partitions of a topic without a group: it affects no consumer and commits nothing. Belongs to one thread; close it.
      class Source
        # One partition: what is read next, where it ends.
        Lane = Struct.new(:number, :last, :queue)
        private_constant :Lane

        SETTINGS = {"enable.auto.commit": false, "enable.auto.offset.store": false, "enable.partition.eof": true,
                    "auto.offset.reset": "earliest"}.freeze
        MAX_WAIT_MS = 1_000
        ROOM_MESSAGES = 2_000
        # Errors that librdkafka gets over by itself.
        PASSING = [*Connection::Librdkafka::RETRIABLE, :all_brokers_down, :resolve].freeze
        private_constant :SETTINGS, :MAX_WAIT_MS, :ROOM_MESSAGES, :PASSING

        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param topic [String]
        # @param codec [Codec, nil] what the reader decodes with
        # @param config [Config] for the size of a batch
        def initialize(settings, topic, codec, config)
          @topic = topic
          @settings = settings
          @codec = codec
          @max_messages = config.max_messages
          @max_bytes = config.max_bytes
          @lanes = {}
          @client = Connection::Client.new({**settings, **SETTINGS}, self)
        end

        # Blocks for the brokers' answers.
        # @param partitions [Array<Integer>, nil] nil: all
        # @param span [Span]
        # @return [void]
        # @raise [Guildhall::ArgumentError] where there is no such topic or partition
        # @raise [Rdkafka::RdkafkaError]
        def open(partitions, span)
          spans = chosen(partitions).to_h { |number| [number, span.resolve(@client, @topic, number)] }
          spans.select! { |_, (first, last)| first < last }
          @client.assign(@topic, spans.transform_values(&:first))
          @reader = Reading::Reader.for(@client)
          spans.each { |number, (_, last)| add(number, last) }
        end

        # @return [Boolean] whether nothing is left to be read
        def finished? = @lanes.empty?

        # Blocks until there is something, for a second at most.
        # @param wait [Boolean]
        # @yieldparam records [Array<Record>] of one partition
        # @yieldparam bytes [Integer]
        # @yieldparam documents [Array<Object>, nil]
        # @return [void]
        # @raise [KafkaError]
        def read(wait: true, &)
          batches, errors = @client.with_handle { @reader.take(wait ? MAX_WAIT_MS : 0, ROOM_MESSAGES, @max_bytes) }
          batches.each { |lane, *batch| deliver(lane, *batch, &) }
          errors.each { |error| note(error) }
        end

        # @return [void]
        def close
          @lanes.each_value { |lane| lane.queue.close }
          @reader&.close
          @client.close(timeout: 5)
        end

        # Called by the client when it is closed.
        # @!visibility private
        def partitions_assigned(_pairs) = nil

        # @!visibility private
        def partitions_revoked(_pairs, lost:) = nil

        # @!visibility private
        def statistics_emitted(_json) = nil

        private

        def chosen(partitions)
          counts = @client.partition_counts(10_000) or raise unanswered
          count = counts.fetch(@topic) { raise UnknownTopicError.new(@topic, counts.keys) }
          missing = [*partitions] - [*0...count]
          wrong = missing.map(&:inspect).join(", ")
          raise Guildhall::ArgumentError, "topic #{@topic} has the partitions 0 to #{count - 1}, not #{wrong}" if missing.any?

          partitions || [*0...count]
        end

        def unanswered
          text = Connection::Librdkafka.unanswered(@settings, "it was asked for topics")
          KafkaError.new(Connection::Librdkafka::TIMED_OUT, "_TIMED_OUT", text)
        end

        def add(number, last)
          lane = @lanes[number] = Lane.new(number, last)
          lane.queue = @reader.open(@topic, number, lane, @codec)
          allow(lane)
        end

        def allow(lane) = lane.queue.allow(@max_messages, @max_bytes)

        def deliver(lane, records, bytes, documents = nil)
          return unless @lanes[lane.number].equal?(lane)

          if records.last.offset >= lane.last - 1
            count = records.index { |record| record.offset >= lane.last } || records.size
            finish(lane)
          else
            allow(lane)
          end
          yield records.first(count || records.size), bytes, documents&.first(count || records.size) unless count&.zero?
        end

        def finish(lane)
          @lanes.delete(lane.number)
          lane.queue.close
        end

        # What lies before the end may be no message, but the mark of a transaction.
        def note(error)
          if error.end_of_partition?
            lane = @lanes[error.partition]
            return lane && error.offset >= lane.last ? finish(lane) : nil
          end
          return if PASSING.include?(Rdkafka::RdkafkaError.new(error.code).code)

          raise KafkaError.from(error)
        end
      end
    end
  end
end
