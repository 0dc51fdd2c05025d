# frozen_string_literal: true

require_relative "../shared_regexp"

module Guildhall
  class JSON
    # The lines of newline-delimited JSON, from a String or in chunks from an IO. A line is one text, so that a bad one
    # ends at its newline, and what is longer than the codec accepts is never held in memory.
    # @api private
    class Lines
      NEWLINE = "\n".b.freeze
      BLANK = SharedRegexp.primed(/\A[ \t\r]*\z/n, Encoding::BINARY)
      private_constant :NEWLINE, :BLANK

      # @param chunk [Integer] bytes to read at once
      # @param max_bytes [Integer] of a line
      def initialize(source, chunk, max_bytes)
        @io = source unless source.is_a?(String)
        @buffer = @io ? String.new(encoding: Encoding::BINARY) : source.b
        @chunk = chunk
        @max_bytes = max_bytes
        @offset = 0 # of the buffer's first byte in the source
        @scanned = 0 # bytes of the buffer that hold no newline
      end

      # Blank lines are left out.
      # @yieldparam line [String] frozen; of one that is too long its first max_bytes + 1 bytes
      # @yieldparam offset [Integer] of its first byte in the source
      # @yieldparam number [Integer] from 1
      def each
        number = 0
        while (line, offset = next_line)
          number += 1
          yield line.freeze, offset, number unless line.match?(BLANK)
        end
      end

      private

      def next_line
        until (found = @buffer.index(NEWLINE, @scanned))
          @scanned = @buffer.bytesize
          return too_long if @scanned > @max_bytes
          return last unless more?
        end
        take(found, 1)
      end

      def take(bytes, newline)
        line = @buffer.byteslice(0, bytes)
        offset = @offset
        skip(bytes + newline)
        [line, offset]
      end

      def last
        @buffer.empty? ? nil : take(@buffer.bytesize, 0)
      end

      # What is left of the line is read and dropped, a chunk at a time.
      def too_long
        line, offset = take(@max_bytes + 1, 0)
        until (found = @buffer.index(NEWLINE))
          skip(@buffer.bytesize)
          return [line, offset] unless more?
        end
        skip(found + 1)
        [line, offset]
      end

      def skip(bytes)
        @offset += bytes
        @buffer = @buffer.byteslice(bytes..)
        @scanned = 0
      end

      def more?
        more = @io&.read(@chunk) or return false
        @buffer << more.b
        true
      end
    end
  end
end
