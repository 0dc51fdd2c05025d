# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Which messages behind a committed offset are done already, written into the offset's metadata: beside the user's
      # own, ignored by members that do not know it, and cut off where it grows too long (what does not fit is redone).
      #
      #     user's text␟gh1:gap.length,gap.length…     in base 36, from the offset on
      module DoneRanges
        MARK = "\u241Fgh1:"
        # With the user's text: brokers refuse to commit more than `offset.metadata.max.bytes`, 4096 unless set.
        MAX_BYTES = 3_000

        # @param offset [Integer] the committed one
        # @param done [Array<Integer>] offsets behind it
        # @param metadata [String, nil] the user's own
        # @return [String, nil] nil when there is nothing to write
        def self.dump(offset, done, metadata = nil)
          return metadata if done.empty?

          most = MAX_BYTES - metadata.to_s.bytesize
          text = +""
          ranges(done).each do |first, last|
            part = "#{"," unless text.empty?}#{(first - offset).to_s(36)}.#{(last - first + 1).to_s(36)}"
            break if text.bytesize + part.bytesize > most

            text << part
            offset = last + 1
          end
          text.empty? ? metadata : "#{metadata}#{MARK}#{text}"
        end

        # @param offset [Integer] the committed one
        # @param metadata [String, nil]
        # @return [Array<Range<Integer>>] what is done behind it
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

        def self.ranges(done)
          done.sort.slice_when { |a, b| b != a + 1 }.map { |run| [run.first, run.last] }
        end
        private_class_method :ranges
      end
    end
  end
end
