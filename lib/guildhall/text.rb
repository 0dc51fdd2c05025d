# frozen_string_literal: true

require_relative "codec"
require_relative "errors"

module Guildhall
  # Text: bytes to frozen UTF-8 Strings that are known to be valid. Any Ractor may call it; it never blocks.
  #
  #     Guildhall::Text.decode(bytes)
  #     Guildhall::Text.new(encoding: "ISO-8859-1").decode(bytes)
  #     Guildhall::Text.new(encoding: :bytes).decode(bytes)   # untouched
  class Text
    include Codec

    # @param encoding [String, Encoding, :bytes] what the bytes are in; `:bytes`: they are no text, and come back as
    #   they are, marked as binary
    # @param invalid [:raise, String] what to do with bytes that are not valid, or have no place in UTF-8: a String goes
    #   in their place
    # @param bom [Boolean] whether a byte order mark of UTF-8 at the beginning is left out
    # @raise [Guildhall::ArgumentError]
    def initialize(encoding: Encoding::UTF_8, invalid: :raise, bom: true)
      @encoding = encoding == :bytes ? Encoding::BINARY : Encoding.find(encoding)
      unless invalid == :raise || invalid.is_a?(String)
        raise Guildhall::ArgumentError,
          "invalid: is :raise or a String, not #{invalid.inspect}"
      end

      @replacement = invalid == :raise ? nil : invalid.encode(Encoding::UTF_8).freeze
      @bom = bom
      freeze
    rescue ::ArgumentError => error # Encoding.find
      raise Guildhall::ArgumentError, error.message
    end

    # @param bytes [String] not changed
    # @return [String] frozen; UTF-8, or binary for `:bytes`
    # @raise [DecodeError] for what is not valid
    def decode(bytes)
      return frozen(bytes, Encoding::BINARY) if @encoding == Encoding::BINARY

      text = mark(bytes)
      text = text.byteslice(3..) if @bom && text.getbyte(0) == 0xef && text.b.start_with?(BOM)
      text = convert(text)
      text.frozen? && text.instance_variables.empty? ? text : text.dup.freeze
    end

    # @param text [String]
    # @return [String] frozen, in the codec's encoding
    # @raise [EncodeError] for characters that the encoding does not have
    def encode(text)
      return frozen(text, Encoding::BINARY) if @encoding == Encoding::BINARY

      text.encode(@encoding).freeze
    rescue EncodingError => error
      raise EncodeError, error.message
    end

    BOM = "\xEF\xBB\xBF".b.freeze
    private_constant :BOM

    private

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
      raise DecodeError.new(error.message, codec: "Text")
    end

    def invalid(text)
      if @replacement
        return text.scrub(@replacement) if @encoding == Encoding::UTF_8

        return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace, replace: @replacement)
      end
      offset = text.each_char.take_while(&:valid_encoding?).sum(&:bytesize)
      raise DecodeError.new("not valid #{@encoding}", codec: "Text", offset:,
        excerpt: text.byteslice(offset, 40))
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
