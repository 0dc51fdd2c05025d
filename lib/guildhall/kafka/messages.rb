# frozen_string_literal: true

module Guildhall
  module Kafka
    # A batch as a consumer sees it: the messages that were not left out and are not done, in the order of their offsets.
    class Messages
      include Enumerable

      # @!visibility private
      attr_reader :batch

      # @!visibility private
      # @param indexes [Array<Integer>] of the batch's records
      # @param call [#mark, nil] the call of `consume` that they belong to
      def initialize(batch, indexes, call = nil)
        @batch = batch
        @indexes = indexes
        @call = call
        @messages = Array.new(indexes.size)
        @last_read = -1
        @raised = nil # what the block of an iterator has raised, and at which position
        @stepped = 0 # how many {#next_steps} has given out
        @handed_over = false
      end

      def each
        return enum_for(:each) { size } unless block_given?

        position = 0
        count = @indexes.size
        while position < count
          yield @messages[position] || message(position)
          position += 1
        end
        self
      rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is
        @raised = [error, position]
        raise
      end

      # As Enumerable's. If the block raises, any message of the slice may be the cause.
      def each_slice(size)
        return super unless block_given?

        several = false
        super do |slice|
          several = slice.size > 1
          yield slice
        end
      rescue Exception # rubocop:disable Lint/RescueException -- whatever it is
        @raised = nil if several
        raise
      end

      # Marks each message as consumed once the block has returned for it. If it is left early (by `break`, `return` or an
      # error), only what is marked is done when `consume` returns: the rest is delivered again, beginning with the message
      # at hand. Without a block there is no Enumerator: its `each_slice` or `to_a` would mark messages that nobody has handled.
      # @raise [Guildhall::ArgumentError] without a block
      def each_marking
        unless block_given?
          raise Guildhall::ArgumentError,
            "each_marking needs a block; to mark slices: each_slice(100) { |slice| …; mark_as_consumed(slice.last) }"
        end

        @call.only_marks do
          each do |message|
            yield message
            @call.mark(message)
          end
        end
        self
      end

      # @param position [Integer] negative: from the end
      def [](position)
        position += size if position.negative?
        return if position.negative? || position >= size

        @messages[position] || message(position)
      end

      def size = @indexes.size
      alias length size

      def count(*arguments, &) = arguments.empty? && !block_given? ? size : super
      def empty? = @indexes.empty?
      def first(count = nil) = count ? super : self[0]
      def last = self[-1]

      # @raise [Exception] what the deserializer raised for the first payload that it could not decode
      def payloads = map(&:payload)
      def raw_payloads = map(&:raw_payload)

      # The messages that have a payload, with it; blocks until each is decoded. Failures and tombstones are left out:
      # see {#failures} and {#tombstones}. An outage is raised, for it says nothing about the payload.
      def each_decoded
        return enum_for(:each_decoded) unless block_given?

        each { |message| yield(message, message.payload) unless message.tombstone? || message.failure }
      end

      # The messages whose payload could not be decoded; {Message#failure} says why, and raises an outage, as this does.
      def failures = failed.select(&:failure)

      # @!visibility private
      def undecodable = failed.select(&:undecodable?)

      def tombstones = where { |index| @batch.records[index].tombstone? }

      # How many messages of the batch the deserializer has left out.
      def dropped = @batch.dropped

      # How many messages were read, and bytes of their payloads, with those left out.
      def read = @batch.records.size
      def bytes = @batch.bytes

      # A consumer that asks for them has looked at all of its messages; middleware that does has consumed none.
      # @return [Array<Record>]
      def records
        @last_read = size - 1 if @handed_over
        @indexes.size == read ? @batch.records.dup : @indexes.map { |index| @batch.records[index] }
      end

      # @!visibility private
      # From now on the consumer has them.
      def hand_over = tap { @handed_over = true }

      # For middleware, as {#records}; costs nearly nothing where no message has such a header.
      # @param name [String] of a header
      # @return [Array<Record>] of the first messages that have it, at most so many
      def records_with_header(name, limit) = @batch.records.first.class.with_header(records, name, limit)

      def first_offset = offset_at(0)
      def last_offset = offset_at(-1)

      # @!visibility private
      # @return [Integer, nil] the highest offset that the consumer has looked at; nil: none
      def last_read = (offset_at(@last_read) unless @last_read.negative?)

      # Which message an error is about: the one at which an iterator's block raised it, or the only one that can be the cause.
      # @return [Integer, nil] its offset; nil: it cannot be told from the others
      def failing_offset(error)
        return offset_at(@raised.last) if @raised && (error.equal?(@raised.first) || error.cause.equal?(@raised.first))

        first = @call && (0...size).find { |position| !@call.done?(offset_at(position)) }
        offset_at(first) if first && (first == size - 1 || first == @last_read)
      end

      # @!visibility private
      # Each message's step is given out once. With the lock of {Partition::Progress} held.
      # @return [Array<Array(Integer, Integer)>] of the messages up to that offset each one's offset, and that of the one after it
      def next_steps(offset = last_offset)
        steps = []
        while (index = @indexes[@stepped]) && (own = @batch.records[index].offset) <= offset
          steps << [own, @batch.next_offset(index)]
          @stepped += 1
        end
        steps
      end

      def inspect = "#<#{self.class} #{size} messages#{" from #{first.inspect}" unless empty?}>"

      private

      def offset_at(position)
        index = @indexes[position]
        index && @batch.records[index].offset
      end

      def message(position)
        @last_read = position if position > @last_read
        @messages[position] = Message.new(@batch, @indexes[position])
      end

      def failed = where { |index| @batch.results[index].is_a?(Failure) }

      def where = (0...size).filter_map { |position| self[position] if yield @indexes[position] }
    end
  end
end
