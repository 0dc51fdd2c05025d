# frozen_string_literal: true

module Guildhall
  module Kafka
    # What a consumer sees of one message. Belongs to the main Ractor; what has to cross Ractors is the {#record}.
    class Message
      # @return [Record, PlainRecord] bytes and metadata: frozen and shareable
      attr_reader :record

      # @!visibility private
      def initialize(record, results, index, topic)
        @record = record
        @results = results
        @index = index
        @topic = topic
        @loaded = false
      end

      # Decoded once; the result of the workers or the reader where they have it. May block until it is there.
      # @return [Object, nil] nil for a tombstone
      # @raise [Exception] what the deserializer raised for this message
      def payload
        return @payload if @loaded

        value = @results[@index]
        value.raise! if value.is_a?(Failure)
        @loaded = true
        @payload = value
      end

      # Another payload for this message, such as one that a step of the consumer's has worked on.
      # @param value [Object]
      def payload=(value)
        @loaded = true
        @payload = value
      end

      # May block until it is known.
      # @return [Failure, nil] what became of the payload when it could not be decoded
      def failure
        return if @loaded

        value = @results[@index]
        value if value.is_a?(Failure)
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
        decoded(@topic.key_deserializer, @record.key)
      end

      # @return [String, nil]
      def raw_key
        @record.key
      end

      # @return [Hash{String=>String, Array<String>}] several values of one name are an Array
      def headers
        decoded(@topic.headers_deserializer, @record.headers)
      end

      # @return [Hash{String=>String, Array<String>}]
      def raw_headers
        @record.headers
      end

      # @return [Record] topic, partition, offset, key, headers, timestamp; never decodes the payload
      def metadata
        @record
      end

      # @return [String]
      def topic
        @record.topic
      end

      # @return [Integer]
      def partition
        @record.partition
      end

      # @return [Integer]
      def offset
        @record.offset
      end

      # @return [Time, nil]
      def timestamp
        @record.timestamp
      end

      # @return [String]
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
