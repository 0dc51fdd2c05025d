# frozen_string_literal: true

module Guildhall
  # Regular expressions that several Ractors match. Each needs a fixed encoding: Ruby compiles any other expression again for a text in
  # another encoding. Ruby 3.4 then frees the compiled code, which another Ractor may be using. Ruby 4.0 compiles it for every match once
  # the process has made a Ractor. So expressions that are made at run time come from {.of}; literals end with `u`, or come from {.primed}.
  # May be called from any Ractor.
  # @api private
  module SharedRegexp
    BEYOND_ASCII = {Encoding::UTF_8 => "é", Encoding::BINARY => "\xFF".b.freeze}.freeze
    private_constant :BEYOND_ASCII

    class << self
      # @param encoding [Encoding] of the texts
      # @raise [RegexpError]
      def of(source, options = 0, timeout: nil, encoding: Encoding::UTF_8)
        Regexp.new(source.encode(encoding), options | Regexp::FIXEDENCODING, timeout:)
      end

      # @param regexp [Regexp] one that shall have no encoding of its own, and does not occur in a program twice
      # @param encoding [Encoding] of the texts, UTF-8 or binary
      # @return [Regexp] the same: compiled for such texts before several Ractors may do it at once
      def primed(regexp, encoding = Encoding::UTF_8)
        regexp.match?(BEYOND_ASCII.fetch(encoding))
        regexp
      end

      # @param regexp [Regexp] as {.of} makes it
      # @param text [String] in any encoding; binary: taken for UTF-8, as in schemas
      # @return [Boolean] false for bytes that are no text
      def match?(regexp, text)
        text = utf8(text) unless text.ascii_only?
        !text.nil? && regexp.match?(text)
      end

      # @param text [String] in any encoding; binary: taken for UTF-8
      # @return [String, nil] valid UTF-8; nil for what cannot be read as that
      def utf8(text)
        case text.encoding
        when Encoding::UTF_8 then nil
        when Encoding::BINARY then text = text.dup.force_encoding(Encoding::UTF_8)
        else text = text.encode(Encoding::UTF_8)
        end
        text if text.valid_encoding?
      rescue EncodingError
        nil
      end
    end
  end
  private_constant :SharedRegexp
end
