# frozen_string_literal: true

require_relative "../errors"

module Guildhall
  class Text
    # How long a payload may be, for the codecs that are made of Ruby.
    # @api private
    class Limit
      DEFAULT_BYTES = 64 * 1024 * 1024

      # @param codec [String] its name, for messages
      # @param bytes [Integer]
      # @raise [Guildhall::ArgumentError]
      def initialize(codec, bytes)
        unless bytes.is_a?(Integer) && bytes.positive?
          raise Guildhall::ArgumentError, "Guildhall::#{codec}: max_bytes is an Integer above 0, not #{bytes.inspect}"
        end

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
