# frozen_string_literal: true

require_relative "../errors"
require_relative "../option_rules"

module Guildhall
  class Text
    # How long a payload may be, for the codecs that are made of Ruby.
    # @api private
    class Limit
      DEFAULT_BYTES = 64 * 1024 * 1024

      RULES = OptionRules.new(max_bytes: OptionRules.bytes)
      private_constant :RULES

      # @param codec [String] its name, for messages
      # @param bytes [Integer]
      # @raise [Guildhall::ArgumentError]
      def initialize(codec, bytes)
        RULES.check!({max_bytes: bytes}, owner: "Guildhall::#{codec}")
        @codec = codec
        @bytes = bytes
        freeze
      end

      # @param payload [String]
      # @return [String] the payload
      # @raise [TypeError] if it is not a String
      # @raise [DecodeError] for what is longer
      def check(payload)
        text = String.try_convert(payload) || raise(TypeError,
          "no implicit conversion of #{payload.nil? ? "nil" : payload.class} into String")
        return text if text.bytesize <= @bytes

        raise DecodeError.new("#{text.bytesize} bytes are more than max_bytes, #{@bytes}", codec: @codec, offset: @bytes)
      end
    end
  end
end
