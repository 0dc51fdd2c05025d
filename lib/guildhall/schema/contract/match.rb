# frozen_string_literal: true

require_relative "../../shared_regexp"

module Guildhall
  class Schema
    class Contract
      # A Regexp as a keyword. It says of a text what `match?` says, but for texts with which that raises: they do not match.
      class Match
        # @param timeout [Numeric] seconds that a match may take, if the Regexp does not say so itself
        def initialize(regexp, timeout)
          @timeout = regexp.timeout || timeout
          @own = in_encoding(regexp, regexp.encoding) if regexp.fixed_encoding?
          @text, @bytes = [Encoding::UTF_8, Encoding::BINARY].map { |encoding| in_encoding(regexp, encoding) } unless @own
        end

        # @param text [String] in any encoding
        def call(text)
          return @own.match?(text) if @own
          return SharedRegexp.match?(@text, text) unless text.encoding == Encoding::BINARY

          !@bytes.nil? && @bytes.match?(text)
        rescue EncodingError, ::ArgumentError # the text has another encoding, or is not valid
          false
        end

        private

        # Without an encoding of its own it would be compiled again for each: see SharedRegexp.
        def in_encoding(regexp, encoding)
          SharedRegexp.of(regexp.source, regexp.options & ~Regexp::NOENCODING, timeout: @timeout, encoding:)
        rescue RegexpError # such as `\p{L}`, which means nothing of bytes
          nil
        end
      end
      private_constant :Match
    end
  end
end
