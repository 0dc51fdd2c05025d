# frozen_string_literal: true

require_relative "partition/error_kind"

module Guildhall
  module Kafka
    # What a consumer sees of one message. Belongs to the main Ractor; what has to cross Ractors is the {#record}.
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
        @loaded = false
      end

      # Decoded once; the result of the workers or the reader where they have it. May block until it is there.
      # @return [Object, nil] nil for a tombstone
      # @raise [Exception] what the deserializer raised for this message
      def payload
        return @payload if @loaded

        value = @batch.results[@index]
        value.raise! if Failure === value # asks no Document, whose is_a? is a method
        @loaded = true
        @payload = value
      end

      # Another payload for this message, such as one that a step of the consumer's has worked on.
      def payload=(value)
        @loaded = true
        @payload = value
      end

      # May block until it is known.
      # @return [Failure, nil] why the payload could not be decoded
      # @raise [Exception] an outage, such as a schema registry that does not answer: it says nothing about this payload, and
      #   must not be taken for its error
      def failure
        return if @loaded

        value = @batch.results[@index]
        return unless value.is_a?(Failure)

        value.raise! if Partition::ErrorKind.of(value.exception, @batch.topic) == :outage
        value
      end

      # May block until it is known.
      # @return [Boolean] whether the bytes are invalid: they cannot be decoded, or a validator has refused them
      # @raise as {#failure} does
      def undecodable?
        !(failure = self.failure).nil? && Partition::ErrorKind.of(failure.exception, @batch.topic) == :undecodable
      end

      # @return [Boolean] whether the payload has been asked for
      def deserialized?
        @loaded
      end

      # @return [String, nil] the bytes as they came; nil for a tombstone
      def raw_payload
        @record.raw_payload
      end

      # @return [Boolean] whether the message has no payload: its key was deleted
      def tombstone?
        @record.tombstone?
      end

      # @return [Object, nil] the key, by its deserializer where the topic has one
      def key
        decoded(@batch.topic.key_deserializer, @record.key)
      end

      def raw_key
        @record.key
      end

      # @return [Hash{String=>String, Array<String>}] several values of one name are an Array
      def headers
        decoded(@batch.topic.headers_deserializer, @record.headers)
      end

      def raw_headers
        @record.headers
      end

      # @return [Record] topic, partition, offset, key, headers, timestamp; never decodes the payload
      def metadata
        @record
      end

      def topic
        @record.topic
      end

      def partition
        @record.partition
      end

      def offset
        @record.offset
      end

      def timestamp
        @record.timestamp
      end

      def inspect
        "#<#{self.class} #{topic}/#{partition}@#{offset}#{" tombstone" if tombstone?}>"
      end

      private

      def decoded(deserializer, raw)
        deserializer && raw ? deserializer.call(raw) : raw
      end
    end
  end
end
