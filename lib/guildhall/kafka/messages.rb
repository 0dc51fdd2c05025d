# frozen_string_literal: true

module Guildhall
  module Kafka
    # A batch as a consumer sees it: the messages that were not left out and are not done, in the order of their offsets.
    class Messages
      include Enumerable

      UNDECODABLE = %i[raise skip].freeze
      TOMBSTONES = %i[keep skip].freeze
      SKIPPED = Object.new.freeze # in the place of a row
      private_constant :UNDECODABLE, :TOMBSTONES, :SKIPPED

      # @!visibility private
      # What was asked of `rows`: named columns, or a Hash of names, or Columns that are compiled.
      def self.asked(columns, names)
        return [[], columns] if columns.is_a?(Hash) && names.empty?
        return [[], names] if columns.nil?
        return [[columns], {}] if columns.is_a?(Columns) && columns.names && names.empty?

        raise Guildhall::ArgumentError, "rows takes columns by name, such as rows(id: \"id\"), a Hash of them, or Columns that have names"
      end

      # @!visibility private
      attr_reader :batch

      # @!visibility private
      # @param indexes [Array<Integer>] of the batch's records
      # @param call [#mark, nil] the call of `consume` that they belong to
      # @param messages [Array<Message, nil>] those that are made already
      # @param whole [Messages, nil] what these are a part of
      def initialize(batch, indexes, call = nil, messages: Array.new(indexes.size), whole: nil)
        @batch = batch
        @indexes = indexes
        @call = call
        @messages = messages
        @whole = whole
        @last_read = -1
        @raised = nil # what the block of an iterator has raised, and at which offset
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
        blame(position, error)
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
        forget_blame if several
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

      # The values at these paths, a row for each message, in their order: of one path an Array of values, of several an Array of Arrays.
      # Where the reader has decoded the payloads, they are read where they lie, and neither Messages nor Documents are made; else as
      # {Message#payload} would give them. What is missing is nil, and so is everything in a tombstone.
      #
      #     messages.pluck("id", "customer.email", "$.items[0].sku", :offset, [:headers, "trace"])
      #
      # Blocks until payloads are decoded. All messages count as looked at, and the row at a position is that of the message there, where
      # nothing is skipped; `:index` says it in each case.
      # @param paths [Array<String, Array, JSON::Path, Symbol, Columns>] see {Columns}; compiled when they are first asked for
      # @param undecodable [Symbol] :raise, as {Message#payload} does, or :skip: no row for them. They are in {#failures}
      # @param tombstones [Symbol] :keep, or :skip: no row for them. They are in {#tombstones}
      # @return [Array] its values are frozen and shareable, and keep no payload alive
      # @raise [Exception] what the deserializer raised for the first payload that it could not decode
      # @raise [Guildhall::ArgumentError] for a path that is not understood
      def pluck(*paths, undecodable: :raise, tombstones: :keep)
        rows_of(@batch.results.columns(paths, {}), undecodable, tombstones)
      end

      # As {#pluck}, each row a Hash, for `upsert_all` and its like.
      #
      #     Order.upsert_all(messages.rows(id: "id", email: "customer.email", unique_by: :id))
      #
      # @param columns [Hash, Columns, nil] instead of names: where a column is to be called as an option here is
      # @param unique_by [Symbol, Array<Symbol>, nil] of the rows with the same values there the last one alone; those with nil all stay
      # @param names [Hash{Symbol=>String, Array, JSON::Path, Symbol}] a path for each column
      # @return [Array<Hash{Symbol=>Object}>]
      def rows(columns = nil, unique_by: nil, undecodable: :raise, tombstones: :keep, **names)
        columns = @batch.results.columns(*Messages.asked(columns, names))
        by = Array(unique_by)
        if (unknown = (by - columns.names).first)
          raise Guildhall::ArgumentError, "unique_by: no column #{unknown.inspect} among #{columns.names.map(&:inspect).join(", ")}"
        end

        rows = rows_of(columns, undecodable, tombstones)
        by.empty? ? rows : last_of_each(rows, by)
      end

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

      # The last message of each key, in the order of their offsets, as a compacted topic keeps them: no key is among {#rows} and
      # {#tombstones} both, so that it does not matter which of them is written first. Messages without a key all stay.
      #
      #     latest = messages.compacted
      #     Order.where(number: latest.tombstones.map(&:key)).delete_all
      #     Order.upsert_all(latest.rows(number: :key, status: "status", tombstones: :skip), unique_by: :number)
      #
      # Decodes no payload. All messages of the batch count as looked at, and are done when `consume` returns.
      # @return [Messages]
      # @raise [Exception] what the deserializer of keys raised
      def compacted
        last = {}
        pluck(:key).each_with_index { |key, position| last[key.nil? ? Object.new : key] = position }
        positions = last.values.sort
        Messages.new(@batch, positions.map { |position| @indexes[position] }, @call, whole: self,
          messages: positions.map { |position| @messages[position] })
      end

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

      # @!visibility private
      # @return [Record, nil] the one at an offset; asking for it does not count as reading
      def record_at(offset) = @indexes.each { |index| return @batch.records[index] if @batch.records[index].offset == offset } && nil

      # Which message an error is about: the one at which an iterator's block raised it, or the only one that can be the cause.
      # @return [Integer, nil] its offset; nil: it cannot be told from the others
      def failing_offset(error)
        return @raised.last if @raised && (error.equal?(@raised.first) || error.cause.equal?(@raised.first))

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

      protected

      def blamed(raised)
        @raised = raised
        @whole&.blamed(raised)
      end

      private

      # @param position [Integer] of the message at which it was raised
      def blame(position, error) = blamed([error, offset_at(position)])
      def forget_blame = blamed(nil)

      def rows_of(columns, undecodable, tombstones)
        check_one_of(:undecodable, undecodable, UNDECODABLE)
        check_one_of(:tombstones, tombstones, TOMBSTONES)
        rows, left = prepared_rows(columns, tombstones == :keep)
        skipped = false
        left.each_slice(2) do |place, position|
          rows[place] = row_at(position, columns, undecodable)
          skipped ||= SKIPPED.equal?(rows[place])
        end
        @last_read = size - 1
        skipped ? rows.reject { |row| SKIPPED.equal?(row) } : rows
      end

      # @return [Array(Array, Array<Integer>)] rows, and of those that are not made yet the places among them and the messages' positions
      def prepared_rows(columns, tombstones)
        left = []
        if @batch.results.rows_of_records?(columns) && @messages.compact.none?(&:replaced?)
          rows = @batch.records.first.class.rows(@batch.records, @indexes, columns, tombstones, left)
          @batch.results.ask_for_few if left.any?
          return [rows, left]
        end

        (0...size).each { |position| left << (left.size / 2) << position if tombstones || !@batch.records[@indexes[position]].tombstone? }
        [Array.new(left.size / 2), left]
      rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is
        blame(left.first, error) if left.one?
        raise
      end

      def row_at(position, columns, undecodable)
        message = self[position]
        return SKIPPED if undecodable == :skip && columns.paths? && message.undecodable?

        message.row_of(columns, position)
      rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is
        blame(position, error)
        raise
      end

      def last_of_each(rows, by)
        seen = {}
        rows.reverse.select do |row|
          key = row.values_at(*by)
          key.include?(nil) || (!seen.key?(key) && (seen[key] = true))
        end.reverse
      end

      def check_one_of(name, value, values)
        return if values.include?(value)

        raise Guildhall::ArgumentError, "#{name}: is #{values.map(&:inspect).join(" or ")}, not #{value.inspect}"
      end

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
