# frozen_string_literal: true

module Guildhall
  module Kafka
    # A batch as a consumer sees it: the messages that were not left out, in the order of their offsets.
    class Messages
      include Enumerable

      # @!visibility private
      # @return [Message, nil] the one that the last iteration has come to
      attr_reader :current

      # @!visibility private
      def initialize(batch, indexes, topic)
        @batch = batch
        @records = batch.records
        @results = batch.results
        @indexes = indexes
        @topic = topic
        @messages = Array.new(indexes.size)
      end

      # @yieldparam message [Message]
      # @return [self, Enumerator]
      def each
        return enum_for(:each) { size } unless block_given?

        position = 0
        count = @indexes.size
        while position < count
          yield @current = @messages[position] || message(position)
          position += 1
        end
        @current = nil
        self
      end

      # @param position [Integer] negative: from the end
      # @return [Message, nil]
      def [](position)
        position += size if position.negative?
        return if position.negative? || position >= size

        @messages[position] || message(position)
      end

      # @return [Integer]
      def size
        @indexes.size
      end
      alias length size

      # @return [Integer]
      def count(*arguments, &)
        arguments.empty? && !block_given? ? size : super
      end

      # @return [Boolean]
      def empty?
        @indexes.empty?
      end

      # @return [Message, nil, Array<Message>]
      def first(count = nil)
        count ? super : self[0]
      end

      # @return [Message, nil]
      def last
        self[-1]
      end

      # @return [Array<Object>] the payloads
      # @raise [Exception] what the deserializer raised for the first one that it could not decode
      def payloads
        map(&:payload)
      end

      # @return [Array<String, nil>]
      def raw_payloads
        map(&:raw_payload)
      end

      # The messages that have a payload, with it; blocks until each is decoded. Failures and tombstones are left out:
      # see {#failures} and {#tombstones}.
      # @yieldparam message [Message]
      # @yieldparam payload [Object]
      # @return [self, Enumerator]
      def each_decoded
        return enum_for(:each_decoded) unless block_given?

        each { |message| yield(message, message.payload) unless message.tombstone? || message.failure }
      end

      # @return [Array<Message>] those whose payload could not be decoded; {Message#failure} says why
      def failures
        all.select(&:failure)
      end

      # @return [Array<Message>]
      def tombstones
        all.select(&:tombstone?)
      end

      # @return [Integer] how many messages of the batch the deserializer has left out
      def dropped
        @batch.dropped
      end

      # @return [Integer] how many messages were read, with those left out
      def read
        @batch.records.size
      end

      # @return [Integer] bytes of the payloads that were read, with those left out
      def bytes
        @batch.bytes
      end

      # @return [Integer]
      def first_offset
        self[0]&.offset
      end

      # @return [Integer]
      def last_offset
        self[-1]&.offset
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{size} messages#{" from #{first.inspect}" unless empty?}>"
      end

      private

      def message(position)
        index = @indexes[position]
        @messages[position] = Message.new(@records[index], @results, index, @topic)
      end

      # Not by {#each}, which notes how far the consumer has come.
      def all
        Array.new(size) { |position| self[position] }
      end
    end
  end
end
