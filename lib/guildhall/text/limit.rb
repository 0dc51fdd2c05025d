# frozen_string_literal: true

require_relative "../digits"
require_relative "../errors"
require_relative "../option_rules"

module Guildhall
  class Text
    # How long a payload and its numbers may be, for the codecs that are made of Ruby.
    # @api private
    class Limit
      DEFAULT_BYTES = 64 * 1024 * 1024

      RULES = OptionRules.new(max_bytes: OptionRules.bytes, max_digits: OptionRules.integer(Digits::RANGE))
      private_constant :RULES

      # @param codec [String] its name, for messages
      # @param digits [Integer] only checked here
      # @raise [Guildhall::ArgumentError]
      def initialize(codec, bytes, digits = Digits::MOST)
        RULES.check!({max_bytes: bytes, max_digits: digits}, owner: "Guildhall::#{codec}")
        @codec = codec
        @bytes = bytes
        freeze
      end

      # @return [String] the payload
      # @raise [TypeError] if it is not a String
      # @raise [DecodeError] for what is longer
      def check(payload)
        text = String.try_convert(payload) || raise(TypeError,
          "no implicit conversion of #{payload.nil? ? "nil" : payload.class} into String")
        return text if text.bytesize <= @bytes

        raise DecodeError.new("#{text.bytesize} bytes are more than max_bytes, #{@bytes}", codec: @codec, offset: @bytes)
      end

      # @param text [String] what the codec has written
      # @return [String] the text
      # @raise [EncodeError] for what it would not read
      def check_written(text)
        return text if text.bytesize <= @bytes

        raise EncodeError, "#{@codec}: #{text.bytesize} bytes are more than max_bytes, #{@bytes}, that this codec reads"
      end
    end
  end
end
