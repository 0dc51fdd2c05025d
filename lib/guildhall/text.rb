# frozen_string_literal: true

require "guildhall/native"
require_relative "codec"
require_relative "errors"
require_relative "text/limit"

module Guildhall
  # Text: bytes to frozen UTF-8 Strings that are known to be valid. Any Ractor may call it; it never blocks.
  #
  #     Guildhall::Text.decode(bytes)
  #     Guildhall::Text.new(encoding: "ISO-8859-1").decode(bytes)
  #     Guildhall::Text.new(encoding: :bytes).decode(bytes)   # untouched
  class Text
    include Codec

    # @param encoding [String, Encoding, :bytes] what the bytes are in; `:bytes`: they are not text, and are returned as
    #   they are, marked as binary
    # @param invalid [:raise, String] what to do with bytes that are not valid, or have no place in UTF-8: a String goes
    #   in their place
    # @param bom [Boolean] whether a byte order mark at the beginning is left out
    # @param max_bytes [Integer] longer payloads are refused
    # @raise [Guildhall::ArgumentError]
    def initialize(encoding: Encoding::UTF_8, invalid: :raise, bom: true, max_bytes: Limit::DEFAULT_BYTES)
      @limit = Limit.new("Text", max_bytes)
      @encoding = encoding == :bytes ? Encoding::BINARY : readable(encoding)
      @replacement = invalid == :raise ? nil : replacement(invalid)
      @bom = bom
      raise Guildhall::ArgumentError, "Guildhall::Text: bom is true or false, not #{bom.inspect}" unless [true, false].include?(bom)

      freeze
    end

    # @param bytes [String] not changed
    # @return [String] frozen; UTF-8, or binary for `:bytes`
    # @raise [DecodeError] for what is not valid
    def decode(bytes)
      bytes = @limit.check(bytes)
      return frozen(bytes, Encoding::BINARY) if @encoding == Encoding::BINARY

      text = convert(mark(bytes))
      text = text.byteslice(BOM.bytesize..) if @bom && text.start_with?(BOM)
      text.frozen? && text.instance_variables.empty? ? text : text.dup.freeze
    end

    # @return [String] frozen, in the codec's encoding
    # @raise [EncodeError] for characters that the encoding does not have, and for more than max_bytes
    def encode(text)
      text = String.try_convert(text) || raise(EncodeError, "Text: a String is needed, not #{text.nil? ? "nil" : text.class}")
      return @limit.check_written(frozen(text, Encoding::BINARY)) if @encoding == Encoding::BINARY

      raise EncodeError, "Text: the String is not valid #{text.encoding}" unless text.valid_encoding?

      @limit.check_written(text.encode(@encoding).freeze)
    rescue EncodingError => error
      raise EncodeError.new("Text: #{Redaction.mask(error.message)}#{place(text, error)}", excerpt: error.message)
    end

    BOM = "\uFEFF"
    private_constant :BOM

    private

    # Not every encoding that Ruby can name can be converted.
    def readable(name)
      encoding = Encoding.find(name)
      Encoding::Converter.new(encoding, Encoding::UTF_8) unless encoding == Encoding::UTF_8
      encoding
    rescue ::ArgumentError, TypeError, Encoding::ConverterNotFoundError => error
      raise Guildhall::ArgumentError, "Guildhall::Text: encoding: #{error.message}"
    end

    def replacement(invalid)
      raise Guildhall::ArgumentError, "Guildhall::Text: invalid has no meaning for :bytes" if @encoding == Encoding::BINARY

      text = invalid.encode(Encoding::UTF_8).freeze if invalid.is_a?(String) && invalid.valid_encoding?
      text || raise(Guildhall::ArgumentError, "Guildhall::Text: invalid is :raise or a valid String, not #{invalid.inspect}")
    rescue EncodingError => error
      raise Guildhall::ArgumentError, "Guildhall::Text: invalid: #{error.message}"
    end

    # Ruby names the character that the encoding does not have, but not where it is.
    def place(text, error)
      return unless error.is_a?(Encoding::UndefinedConversionError)

      " at character #{text.encode(error.source_encoding, invalid: :replace, undef: :replace).index(error.error_char)}"
    end

    def frozen(bytes, encoding)
      bytes.frozen? && bytes.encoding == encoding ? bytes : bytes.dup.force_encoding(encoding).freeze
    end

    def mark(bytes)
      bytes.encoding == @encoding ? bytes : bytes.dup.force_encoding(@encoding)
    end

    def convert(text)
      return invalid(text) unless text.valid_encoding?
      return text if @encoding == Encoding::UTF_8

      @replacement ? text.encode(Encoding::UTF_8, undef: :replace, replace: @replacement) : text.encode(Encoding::UTF_8)
    rescue EncodingError => error
      offset = unconvertible(text)
      raise DecodeError.new(Redaction.mask(error.message), codec: "Text", offset:, excerpt: text.byteslice(offset, 40))
    end

    def invalid(text)
      if @replacement
        return text.scrub(@replacement) if @encoding == Encoding::UTF_8

        return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: @replacement)
      end
      offset = @encoding == Encoding::UTF_8 ? Text.error_offset(text) : unconvertible(text)
      raise DecodeError.new("not valid #{@encoding}", codec: "Text", offset:, excerpt: text.byteslice(offset, 40))
    end

    # Where a conversion ends: what was converted is gone from the source then.
    def unconvertible(text)
      converter = Encoding::Converter.new(@encoding, Encoding::UTF_8)
      rest = text.dup
      converter.primitive_convert(rest, +"")
      _, _, _, wrong, read_again = converter.primitive_errinfo
      text.bytesize - rest.bytesize - wrong.to_s.bytesize - read_again.to_s.bytesize
    end

    class << self
      include Codec

      # @see #decode
      def decode(bytes) = UTF_8.decode(bytes)

      # @see #encode
      def encode(text) = UTF_8.encode(text)
    end

    UTF_8 = new
    private_constant :UTF_8
  end
end
