# frozen_string_literal: true

require_relative "partition/error_kind"

module Guildhall
  module Kafka
    # A message as a consumer sees it. Belongs to the main Ractor; other Ractors get its {#record}.
    class Message
      # @return [Record] bytes and metadata: frozen and shareable
      attr_reader :record
      # @!visibility private
      attr_reader :batch

      # @!visibility private
      def initialize(batch, index)
        @batch = batch
        @record = batch.records[index]
        @index = index
        @loaded = @replaced = false
      end

      # Decoded once, by the reader, a worker or the calling thread. May block until it is there.
      # @return [Object, nil] nil for a tombstone
      # @raise [Exception] what the deserializer raised for this message
      def payload
        return @payload if @loaded

        value = @batch.results[@index]
        value.raise! if Failure === value # asks no Document, whose is_a? is a method
        @loaded = true
        @payload = value
      end

      # Replaces the payload, with one that a step of the consumer's has worked on, say.
      def payload=(value)
        @loaded = @replaced = true
        @payload = value
      end

      # @!visibility private
      # Whether the payload is another one than that of the batch.
      def replaced? = @replaced

      # The values at these paths: see {Messages#pluck}; of one path its value. Does not know `:index`.
      # @raise [Exception] as {#payload}
      def pluck(*paths) = row_of(@batch.results.columns(paths, {}))

      # The same by name: see {Messages#rows}.
      # @return [Hash{Symbol=>Object}]
      def row(columns = nil, **names) = row_of(@batch.results.columns(*Messages.asked(columns, names)))

      # @!visibility private
      # @param position [Integer, nil] what `:index` is
      def row_of(columns, position = nil)
        columns.row(columns.paths? ? payload : nil) { |column| column_of(column, position) }
      end

      # Why the payload could not be decoded. May block until it is known.
      # @return [Failure, nil]
      # @raise [Exception] an outage, such as a schema registry that does not answer: it says nothing about this payload, and
      #   must not be taken for its error
      def failure
        return if @loaded

        value = @batch.results[@index]
        return unless value.is_a?(Failure)

        value.raise! if Partition::ErrorKind.of(value.exception, @batch.topic) == :outage
        value
      end

      # Whether the bytes are invalid: they cannot be decoded, or a validator has refused them. Blocks and raises as {#failure}.
      def undecodable? = !(failure = self.failure).nil? && Partition::ErrorKind.of(failure.exception, @batch.topic) == :undecodable

      # Whether the payload has been asked for.
      def deserialized? = @loaded

      # @return [String, nil] the bytes as they came; nil for a tombstone
      def raw_payload = @record.raw_payload

      # Whether the message has no payload: its key was deleted.
      def tombstone? = @record.tombstone?

      # By its deserializer where the topic has one.
      def key = decoded(@batch.topic.key_deserializer, @record.key)
      def raw_key = @record.key

      # By their deserializer where the topic has one.
      # @return [Hash{String=>String, Array<String>}] several values of one name are an Array
      def headers = decoded(@batch.topic.headers_deserializer, @record.headers)
      def raw_headers = @record.headers

      # Topic, partition, offset, key, headers, timestamp; never decodes the payload.
      # @return [Record]
      def metadata = @record
      def topic = @record.topic
      def partition = @record.partition
      def offset = @record.offset
      def timestamp = @record.timestamp

      def inspect = "#<#{self.class} #{topic}/#{partition}@#{offset}#{" tombstone" if tombstone?}>"

      private

      def column_of(column, position)
        case column
        when String then headers[column]
        when :index then position || raise(Guildhall::ArgumentError, "a single message has no :index: pluck it from `messages`")
        when :timestamp then timestamp&.freeze
        when :timestamp_ms, :size then @record.public_send(column)
        else public_send(column)
        end
      end

      def decoded(deserializer, raw) = deserializer && raw ? deserializer.call(raw) : raw
    end
  end
end
