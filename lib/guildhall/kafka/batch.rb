# frozen_string_literal: true

require_relative "message"
require_relative "messages"

module Guildhall
  module Kafka
    # Records of one partition that were read together, in the order of their offsets, with what becomes of their
    # payloads.
    class Batch
      # @return [Array<Record>]
      attr_reader :records
      # @return [#[]] what became of each record's payload
      attr_reader :results
      # @return [Integer] of all payloads
      attr_reader :bytes

      # @param records [Array<Record>] not empty
      # @param results [#[], #wait, #again]
      # @param bytes [Integer] of all payloads
      # @param filtering [Boolean] whether payloads can be left out
      # @param anew [Boolean] whether offsets begin anew with it, although nobody has asked for that
      def initialize(records, results, bytes:, filtering:, anew: false)
        @records = records
        @results = results
        @bytes = bytes
        @filtering = filtering
        @anew = anew
        @kept = nil
      end

      # @return [Boolean] whether its offsets lie before those of the batch before it: the topic was created anew, or cut
      #   short. True once: from then on it is a batch like any other.
      def begins_anew?
        @anew.tap { @anew = false }
      end

      # @return [Integer]
      def first_offset
        @records.first.offset
      end

      # @return [Integer] the offset after the batch
      def end_offset
        @records.last.offset + 1
      end

      # Where payloads can be left out, blocks until all results are there.
      # @return [Array<Integer>] the indexes of the records that were not left out
      def kept
        @kept ||= @filtering ? undropped : (0...@records.size).to_a
      end

      # @return [Integer] how many payloads were left out
      def dropped
        @records.size - kept.size
      end

      # Before another attempt: what could not be decoded may have lacked something that is there now, a schema's registry
      # for instance.
      # @return [void]
      def decode_again
        @results.again
        @kept = kept.reject { |index| DROPPED.equal?(@results[index]) } if @filtering
      end

      # @param offsets [Array<Integer>] messages that need not be consumed any more
      # @return [void]
      def leave_out(offsets)
        @kept = kept.reject { |index| offsets.include?(@records[index].offset) }
        @filtering = true
      end

      # @param offsets [Array<Integer>]
      # @param topic [Routing::Topic]
      # @return [Messages] those
      def share(offsets, topic)
        wanted = offsets.to_h { |offset| [offset, true] }
        Messages.new(self, kept.select { |index| wanted[@records[index].offset] }, topic)
      end

      # @param offset [Integer]
      # @param topic [Routing::Topic]
      # @return [Messages] those from that offset on
      def messages(offset, topic)
        Messages.new(self, kept.drop_while { |index| @records[index].offset < offset }, topic)
      end

      # Where to go on after a message that was handled: what was left out right behind it is done as well.
      # @param offset [Integer]
      # @return [Integer]
      def offset_after(offset)
        return offset + 1 unless @filtering && offset.between?(first_offset, end_offset - 1)

        index = kept.bsearch { |candidate| @records[candidate].offset > offset }
        index ? @records[index].offset : end_offset
      end

      private

      def undropped
        @results.wait
        (0...@records.size).reject { |index| DROPPED.equal?(@results[index]) }
      end
    end
  end
end
