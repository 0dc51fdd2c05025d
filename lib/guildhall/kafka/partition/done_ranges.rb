# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Which messages behind a committed offset are done already, written into the offset's metadata: beside the user's
      # own, ignored by members that do not know it or its version, and cut off where it grows too long (what does not fit is redone).
      #
      #     user's text␟gh1:gap.length,gap.length…     in base 36, from the offset on
      # @api private
      module DoneRanges
        VERSION = 1
        MARK = "\u241Fgh#{VERSION}:".freeze
        ANY_VERSION = /\u241Fgh(\d+):/
        private_constant :ANY_VERSION
        BROKERS_MAX_BYTES = 4_096 # what they commit at most: `offset.metadata.max.bytes`, unless it is set
        MAX_BYTES = 3_000 # with the user's text, so that some is left

        # @param offset [Integer] the committed one
        # @param done [Array<Range<Integer>>] what is done behind it, in order
        # @param metadata [String, nil] the user's own
        # @return [String, nil] nil: there is nothing to write
        def self.dump(offset, done, metadata = nil)
          text = fitting(offset, done, metadata).join(",")
          text.empty? ? metadata : "#{metadata}#{MARK}#{text}"
        end

        # @return [Boolean] whether {.dump} can write all of it
        def self.fit?(offset, done, metadata = nil) = fitting(offset, done, metadata).size == done.size

        # @return [Array<Range<Integer>>] what is done behind a committed offset
        def self.load(offset, metadata)
          text = metadata.to_s.dup.force_encoding(Encoding::UTF_8)
          return [] unless text.valid_encoding? && (start = text.index(MARK))

          text[(start + MARK.size)..].split(",").map do |pair|
            gap, length = pair.split(".").map { |number| Integer(number, 36) }
            first = offset + gap
            offset = first + length
            first...offset
          end
        rescue ::ArgumentError, TypeError # cut off by somebody, or not ours after all
          []
        end

        # @return [Integer, nil] of the format; nil: no ranges are there
        def self.version(metadata) = metadata.to_s.dup.force_encoding(Encoding::UTF_8).scrub[ANY_VERSION, 1]&.to_i

        # @return [String, nil] the user's own part of an offset's metadata
        def self.text(metadata)
          text = metadata.to_s.dup.force_encoding(Encoding::UTF_8)
          text = text[0...(text.index(ANY_VERSION) || text.size)] if text.valid_encoding?
          text unless text.empty?
        end

        # @param done [Array<Range<Integer>>] as {.load} returns them
        # @return [Array<Range<Integer>>] the offsets behind a committed one that were passed over
        def self.gaps(offset, done)
          done.map { |range| (offset...range.begin).tap { offset = range.end } }.reject(&:none?)
        end

        def self.fitting(offset, done, metadata)
          room = MAX_BYTES - metadata.to_s.bytesize + 1 # no comma before the first
          parts = done.map { |range| "#{(range.begin - offset).to_s(36)}.#{range.size.to_s(36)}".tap { offset = range.end } }
          parts.take_while { |part| (room -= part.bytesize + 1) >= 0 }
        end
        private_class_method :fitting
      end
    end
  end
end
