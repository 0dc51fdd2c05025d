# frozen_string_literal: true

module Guildhall
  class Encryption
    # The bytes of an encrypted payload: version (1), length of the key's id, the id, nonce (12), encrypted bytes, tag (16).
    # Where a message header holds the id, its length here is 0.
    # @api private
    module Envelope
      VERSION = 1
      NONCE_BYTES = 12
      TAG_BYTES = 16
      MAX_ID_BYTES = 255
      CIPHER = "aes-256-gcm"

      Opened = Data.define(:id, :start)

      # @raise [TypeError] if it is not a String
      def self.string(bytes)
        String.try_convert(bytes) || raise(TypeError, "no implicit conversion of #{bytes.nil? ? "nil" : bytes.class} into String")
      end

      # @raise [Error]
      def self.open(bytes)
        raise Error.new("not an encrypted payload: it begins with a byte 1", offset: 0) unless bytes.getbyte(0) == VERSION

        start = 2 + (bytes.getbyte(1) || 0)
        raise Error.new("the payload is cut off", offset: bytes.bytesize) if bytes.bytesize < start + NONCE_BYTES + TAG_BYTES

        Opened.new(start > 2 ? bytes.byteslice(2, start - 2).force_encoding(Encoding::UTF_8).freeze : nil, start)
      end

      # @param id [String] of the key; part of what the tag covers
      # @return [String] frozen, binary
      # @raise [Error]
      def self.decrypt(bytes, opened, id, key)
        cipher = OpenSSL::Cipher.new(CIPHER).decrypt
        body = opened.start + NONCE_BYTES
        cipher.key = key
        cipher.iv = bytes.byteslice(opened.start, NONCE_BYTES)
        cipher.auth_tag = bytes.byteslice(-TAG_BYTES, TAG_BYTES)
        cipher.auth_data = covered(id)
        encrypted = bytes.byteslice(body, bytes.bytesize - body - TAG_BYTES)
        "#{cipher.update(encrypted) unless encrypted.empty?}#{cipher.final}".b.freeze
      rescue OpenSSL::Cipher::CipherError
        raise Error.new("the payload was changed, or encrypted with another key than this one of the same id", key_id: id), cause: nil
      end

      # @param inside [Boolean] whether the envelope contains the id
      # @return [String] frozen, binary
      def self.encrypt(bytes, id, key, inside)
        cipher = OpenSSL::Cipher.new(CIPHER).encrypt
        cipher.key = key
        nonce = OpenSSL::Random.random_bytes(NONCE_BYTES)
        cipher.iv = nonce
        cipher.auth_data = covered(id)
        encrypted = "#{cipher.update(bytes) unless bytes.empty?}#{cipher.final}".b
        named = inside ? id.b : "".b
        [VERSION.chr, named.bytesize.chr, named, nonce, encrypted, cipher.auth_tag].map(&:b).join.freeze
      end

      def self.covered(id) = "#{VERSION.chr}#{id}".b
      private_class_method :covered
    end
  end
end
