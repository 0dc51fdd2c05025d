# frozen_string_literal: true

require "guildhall/clock"
require_relative "../deserializing/payloads/part"
require_relative "../message"
require_relative "../messages"

module Guildhall
  module Kafka
    class Messages
      # Records of one partition that were read together, in the order of their offsets, with what becomes of their
      # payloads.
      class Batch
        attr_reader :records
        # @return [Deserializing::Payloads] what became of each record's payload
        attr_reader :results
        # @return [Routing::Topic] the route
        attr_reader :topic
        # @return [Integer] of all payloads
        attr_reader :bytes
        # @return [Float] when it was read, of the {Clock}
        attr_reader :read_at
        # @return [Integer] how often the partition had been moved to another place when they were read: see
        #   {Partition::Progress}
        attr_reader :generation

        # @param records [Array<Record>] not empty
        # @param bytes [Integer] of all payloads
        # @param read_at [Float] of the {Clock}
        # @param end_offset [Integer, nil] nil: that after the last record
        def initialize(records, results, topic, bytes:, generation: 0, read_at: Clock.now, end_offset: nil)
          @records = records
          @results = results
          @topic = topic
          @bytes = bytes
          @generation = generation
          @kept = @followings = @held_until = nil
          @filtered = false
          @read_at = read_at
          @end_offset = end_offset || (records.last.offset + 1)
        end

        def first_offset
          @records.first.offset
        end

        # @return [Integer] the offset after the batch
        attr_reader :end_offset

        # Where payloads can be left out, blocks until all results are there.
        # @return [Array<Integer>] the indexes of the records that were not left out
        def kept
          @kept ||= @results.filtering? ? undropped : (0...@records.size).to_a
        end

        # Leaves out more records: what a filter has rejected.
        def reject(indexes)
          return if indexes.empty?

          gone = indexes.to_h { |index| [index, true] }
          @kept = kept.reject { |index| gone.key?(index) }
          @followings = nil
        end

        # The filters have decided about all of its records.
        def filtered
          @filtered = true
        end

        def filtered? = @filtered

        # A filter makes all of it wait.
        def hold(seconds)
          @held_until = Clock.now + seconds
          self
        end

        # @return [Boolean] whether it has to wait, as a filter has said
        def held? = !@held_until.nil? && Clock.now < @held_until

        # @return [Numeric] how long it has to wait
        def held_seconds = Clock.left(@held_until)

        # @param index [Integer] of the record with which the second part begins; not 0
        # @return [Array(Batch, Batch)] which share the payloads
        def split(index)
          head_bytes = @records.first.class.bytes(@records[0...index])
          [part(0, @records[0...index], head_bytes), part(index, @records[index..], @bytes - head_bytes)]
        end

        # @return [Integer] how many payloads were left out
        def dropped
          @records.size - kept.size
        end

        # Before each attempt but the first. Payloads that could not be decoded are decoded again: what was missing (a schema
        # whose registry did not answer, say) may be there now.
        def decode_again
          @results.again
          return unless @results.filtering?

          @kept = kept.reject { |index| DROPPED.equal?(@results[index]) }
          @followings = nil
        end

        # @param indexes [Array<Integer>] of records
        # @param call [#mark] the call of `consume` that gets them
        # @return [Messages] those
        def messages(indexes = kept, call = nil)
          Messages.new(self, indexes, call)
        end

        # Where to go on after a message that was handled: what was left out right behind it is done as well.
        # @return [Integer] the offset of the next message of this batch, or where the batch ends; of other batches it knows
        #   nothing
        def offset_after(offset)
          return offset + 1 unless offset.between?(first_offset, end_offset - 1)

          index = kept[place_after(offset)]
          index ? @records[index].offset : end_offset
        end

        # @param index [Integer] of a record that was kept
        # @return [Integer] the offset of the message after it, or where the batch ends
        def next_offset(index)
          (@followings ||= followings)[index]
        end

        protected

        attr_writer :kept

        private

        def part(first, records, bytes)
          own = kept.filter_map { |index| index - first if index.between?(first, first + records.size - 1) }
          results = first.zero? ? @results : Deserializing::Payloads::Part.new(@results, first)
          self.class.new(records, results, @topic, bytes:, generation: @generation, read_at: @read_at).tap { |batch| batch.kept = own }
        end

        def undropped
          @results.wait
          (0...@records.size).reject { |index| DROPPED.equal?(@results[index]) }
        end

        # Most partitions have no gaps: then the place is known without a search.
        def place_after(offset)
          guess = offset - first_offset
          return guess + 1 if kept.size == @records.size && @records[guess]&.offset == offset

          kept.bsearch_index { |index| @records[index].offset > offset } || kept.size
        end

        def followings
          pairs = kept.each_cons(2).map { |index, after| [index, @records[after].offset] }
          pairs << [kept.last, end_offset] unless kept.empty?
          pairs.to_h
        end
      end
    end
  end
end
