# frozen_string_literal: true

module Guildhall
  class JSON
    # The texts of newline-delimited or concatenated JSON, one at a time, from a String or in chunks from an IO.
    # @api private
    class Stream
      # @param chunk [Integer] bytes to read at once
      def initialize(codec, source, chunk)
        @codec = codec
        @io = source unless source.is_a?(String)
        @buffer = @io ? String.new(encoding: Encoding::BINARY) : source.b
        @chunk = chunk
        @position = 0 # in the buffer
        @dropped = 0 # bytes before the buffer
        @line = 1
        @counted = 0 # bytes of the buffer whose newlines are counted in @line
        @finished = @io.nil?
      end

      # @yieldparam text [String] frozen
      # @yieldparam offset [Integer] of its first byte in the source
      # @yieldparam line [Integer] in which it begins, from 1
      def each
        loop do
          while (range = next_text)
            @position = range.last
            yield @buffer.byteslice(range.first, range.last - range.first).freeze, @dropped + range.first, line_of(range.first)
          end
          break if @finished

          read
        end
      end

      private

      def line_of(position)
        @line += @buffer.byteslice(@counted, position - @counted).count("\n") if position > @counted
        @counted = position
        @line
      end

      # @return [Array(Integer, Integer), nil] where it begins and ends in the buffer; nil when it is not whole yet
      def next_text
        found = @codec.send(:next_text, @buffer, @position, @finished)
        return found if found.is_a?(Array)

        @position = found # behind the space before it
        nil
      end

      # Each text that is not whole yet is looked at again from its beginning: reading as much as is already there
      # keeps that linear.
      def read
        line_of(@position)
        @counted = 0
        @buffer = @buffer.byteslice(@position..)
        @dropped += @position
        @position = 0
        more = @io.read([@chunk, @buffer.bytesize].max)
        more ? @buffer << more.b : @finished = true
      end
    end
  end
end
