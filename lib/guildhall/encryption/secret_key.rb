# frozen_string_literal: true

module Guildhall
  class Encryption
    # A key that encrypts and decrypts: AES-256-GCM, with a random nonce of 96 bits. What it makes is the nonce (12), the encrypted
    # bytes, and the tag (16).
    # @api private
    class SecretKey
      VERSION = 1
      BYTES = 32
      NONCE_BYTES = 12
      TAG_BYTES = 16
      LEAST_BYTES = NONCE_BYTES + TAG_BYTES
      CIPHER = "aes-256-gcm"

      # @param bytes [String] 32 bytes
      def initialize(bytes)
        @bytes = bytes.b.freeze
        freeze
      end

      def version = VERSION

      # @param covered [String] what the tag protects besides the bytes
      # @return [String]
      def seal(bytes, covered)
        nonce = OpenSSL::Random.random_bytes(NONCE_BYTES)
        [nonce, *GCM.seal(CIPHER, @bytes, nonce, bytes, covered)].join
      end

      # @return [String]
      # @raise [OpenSSL::Cipher::CipherError]
      def open(body, covered)
        GCM.open(CIPHER, @bytes, body.byteslice(0, NONCE_BYTES), body.byteslice(NONCE_BYTES..), covered)
      end

      # @return [String] without the key
      def inspect = "#<#{self.class}>"
      alias to_s inspect
    end

    # AES-GCM of OpenSSL's.
    # @api private
    module GCM
      TAG_BYTES = SecretKey::TAG_BYTES

      # @return [Array<String>] the encrypted bytes, and the tag
      def self.seal(cipher, key, nonce, bytes, covered)
        cipher = OpenSSL::Cipher.new(cipher).encrypt
        cipher.key = key
        cipher.iv = nonce
        cipher.auth_data = covered
        ["#{cipher.update(bytes) unless bytes.empty?}#{cipher.final}".b, cipher.auth_tag]
      end

      # @param sealed [String] the encrypted bytes and the tag
      # @raise [OpenSSL::Cipher::CipherError]
      def self.open(cipher, key, nonce, sealed, covered)
        cipher = OpenSSL::Cipher.new(cipher).decrypt
        cipher.key = key
        cipher.iv = nonce
        cipher.auth_tag = sealed.byteslice(-TAG_BYTES, TAG_BYTES)
        cipher.auth_data = covered
        encrypted = sealed.byteslice(0, sealed.bytesize - TAG_BYTES)
        "#{cipher.update(encrypted) unless encrypted.empty?}#{cipher.final}".b
      end
    end
  end
end
