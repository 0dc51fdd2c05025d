# frozen_string_literal: true

require "guildhall/clock"
require_relative "../decoding"
require_relative "../message"
require_relative "../messages"

module Guildhall
  module Kafka
    class Messages
      # Records of one partition that were read together, in the order of their offsets, with what becomes of their payloads. Records
      # are referred to by their index.
      # @api private
      class Batch
        INDEXES = (0...1024).to_a.freeze # a part of it shares its memory, and costs nothing for each message
        private_constant :INDEXES

        # @return [Float] when it was read, of the {Clock}
        attr_reader :read_at
        # @return [Integer] the offset after the batch
        attr_reader :end_offset
        attr_reader :records, :results, :topic, :bytes, :generation

        # @param records [Array<Record>] not empty
        # @param results [DecodedPayloads, DecodedPayloads::Slice]
        # @param bytes [Integer] of all payloads
        # @param generation [Integer] the partition's when they were read: see {Partition::Progress}
        # @param end_offset [Integer, nil] nil: that after the last record
        # @param kept [Array<Integer>, nil] nil: all that the deserializer does not leave out
        def initialize(records, results, topic, bytes:, generation: 0, read_at: Clock.now, end_offset: nil, kept: nil, filtered: false)
          @records = records
          @results = results
          @topic = topic
          @bytes = bytes
          @generation = generation
          @read_at = read_at
          @end_offset = end_offset || (records.last.offset + 1)
          @kept = kept
          @postponed_until = nil
          @filtered = filtered
        end

        def first_offset = @records.first.offset

        # The indexes of the records that were not left out. Where payloads can be left out, blocks until all are decoded.
        def kept
          @kept ||= begin
            @results.wait if @results.filtering?
            undropped(@records.size <= INDEXES.size ? INDEXES.first(@records.size) : (0...@records.size).to_a)
          end
        end

        def dropped = @records.size - kept.size

        # Leaves out more records: those that a filter has rejected.
        def reject(indexes) = @kept = kept - indexes

        # The filters have decided about all of its records.
        def filtered = @filtered = true
        def filtered? = @filtered

        # A filter makes all of it wait.
        def postpone(seconds)
          @postponed_until = Clock.now + seconds
          self
        end

        def postponed? = !@postponed_until.nil? && Clock.now < @postponed_until
        def postponed_seconds = Clock.left(@postponed_until)

        # @param index [Integer] with which the second part begins; not 0
        # @return [Array(Batch, Batch)] which share the payloads
        def split(index)
          head_bytes = @records.first.class.bytes(@records[0...index])
          head, tail = kept.partition { |own| own < index }
          [part(@records[0...index], @results, head_bytes, head),
           part(@records[index..], DecodedPayloads::Slice.new(@results, index), @bytes - head_bytes, tail.map { |own| own - index })]
        end

        # Before each attempt but the first. Payloads that could not be decoded are decoded again: what was missing (a schema
        # whose registry did not answer, say) may be there now.
        def decode_again
          @results.again
          @kept = undropped(kept)
        end

        def messages(indexes = kept, call = nil) = Messages.new(self, indexes, call)

        # Where to go on after a message that was handled: the messages right behind it that were left out are done as well.
        # @return [Integer] the offset of the next message of this batch, or where the batch ends; of an offset of another batch, the next
        def offset_after(offset)
          return offset + 1 unless offset.between?(first_offset, end_offset - 1)

          guess = offset - first_offset # most partitions have no gaps: then it is known without a search
          guess = (@records.bsearch_index { |record| record.offset > offset } || @records.size) - 1 unless @records[guess]&.offset == offset
          next_offset(guess)
        end

        # @param index [Integer] of a record
        # @return [Integer] the offset of the message after it, or where the batch ends
        def next_offset(index)
          after = kept.size == @records.size ? index + 1 : kept.bsearch { |other| other > index }
          record = @records[after] if after
          record ? record.offset : end_offset
        end

        private

        def undropped(indexes) = @results.filtering? ? indexes.reject { |index| DROPPED.equal?(@results[index]) } : indexes

        def part(records, results, bytes, kept)
          self.class.new(records, results, @topic, bytes:, generation: @generation, read_at: @read_at, kept:, filtered: @filtered)
        end
      end
    end
  end
end
