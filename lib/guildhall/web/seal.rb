# frozen_string_literal: true

require "openssl"
require "securerandom"
require "guildhall/json"

module Guildhall
  class Web
    # Texts that a browser carries from one page to the next, and that only who has the key can have written: form tokens and notes. With
    # the same key all replicas of the page accept what one has written; a key is one process's, and its forks', unless it is set.
    # @api private
    class Seal
      LEAST_BYTES = 32
      TOO_SHORT = "key: is a secret of at least #{LEAST_BYTES} bytes, such as `openssl rand -hex 32` prints, the same in all replicas of " \
                  "the page".freeze
      private_constant :LEAST_BYTES, :TOO_SHORT

      # The text is not one of ours, or was changed.
      class Forged < StandardError
        include Error
      end

      # It was one of ours, and is too old.
      class Expired < StandardError
        include Error
      end

      # @param secret [String, nil] nil: a random one
      # @raise [Guildhall::ArgumentError] for one that is too short
      def initialize(secret = nil)
        raise Guildhall::ArgumentError, TOO_SHORT if secret && !(secret.is_a?(String) && secret.bytesize >= LEAST_BYTES)

        # Not the secret itself, which may be the commands' private key.
        @key = OpenSSL::HMAC.digest("SHA256", secret || SecureRandom.bytes(LEAST_BYTES), "guildhall-web forms")
      end

      # @param purpose [Symbol] a text for one is none for another
      # @param data [Object] of what JSON has
      # @param seconds [Numeric] for which it is valid
      # @return [String] of characters that addresses may have
      def write(purpose, data, seconds:)
        text = encode(JSON.encode([(Time.now.to_f + seconds).round, data]))
        "#{text}.#{encode(digest(purpose, text))}"
      end

      # @return [Object] the data, with Strings as keys
      # @raise [Forged, Expired]
      def read(purpose, sealed)
        text, signature = sealed.to_s.split(".", 2)
        raise Forged unless signature && OpenSSL.secure_compare(encode(digest(purpose, text)), signature)

        expires, data = JSON.decode(text.tr("-_", "+/").unpack1("m"))
        raise Expired if Time.now.to_f > expires

        data
      end

      private

      def digest(purpose, text) = OpenSSL::HMAC.digest("SHA256", @key, "#{purpose}:#{text}")
      def encode(bytes) = [bytes].pack("m0").tr("+/", "-_").delete("=")
    end
  end
end
