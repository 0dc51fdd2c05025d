# frozen_string_literal: true

module Guildhall
  class Encryption
    # The bytes of an encrypted payload: version (1), length of the key's id, the id, and what the key makes of the payload: see
    # {SecretKey} (version 1) and {PublicKey} (version 2). Where a message header holds the id, its length here is 0.
    # @api private
    module Envelope
      # version => how many bytes follow the id at least
      LEAST_BYTES = {SecretKey::VERSION => SecretKey::LEAST_BYTES, PublicKey::VERSION => PublicKey::LEAST_BYTES}.freeze
      MAX_ID_BYTES = 255

      Opened = Data.define(:version, :id, :start)

      # @raise [TypeError] if it is not a String
      def self.string(bytes)
        String.try_convert(bytes) || raise(TypeError, "no implicit conversion of #{bytes.nil? ? "nil" : bytes.class} into String")
      end

      # @raise [Error]
      def self.open(bytes)
        version = bytes.getbyte(0)
        least = LEAST_BYTES[version] or raise Error.new("not an encrypted payload: it begins with a byte 1 or 2", offset: 0)
        start = 2 + (bytes.getbyte(1) || 0)
        raise Error.new("the payload is cut off", offset: bytes.bytesize) if bytes.bytesize < start + least

        Opened.new(version, start > 2 ? bytes.byteslice(2, start - 2).force_encoding(Encoding::UTF_8).freeze : nil, start)
      end

      # @param id [String] of the key; part of what the tag covers
      # @return [String] frozen, binary
      # @raise [Error]
      def self.decrypt(bytes, opened, id, key)
        raise Error.new(other_kind(opened), key_id: id) unless key.version == opened.version

        key.open(bytes.byteslice(opened.start..), covered(opened.version, id)).b.freeze
      rescue OpenSSL::Cipher::CipherError
        raise Error.new("the payload was changed, or encrypted with another key than this one of the same id", key_id: id), cause: nil
      end

      # @param inside [Boolean] whether the envelope contains the id
      # @return [String] frozen, binary
      def self.encrypt(bytes, id, key, inside)
        named = inside ? id.b : "".b
        [key.version.chr, named.bytesize.chr, named, key.seal(bytes, covered(key.version, id))].map(&:b).join.freeze
      end

      def self.covered(version, id) = "#{version.chr}#{id}".b

      def self.other_kind(opened)
        made = opened.version == PublicKey::VERSION ? "a public key" : "a secret key"
        "the payload was encrypted with #{made}, and the key of this id is of the other kind"
      end
      private_class_method :covered, :other_kind
    end
  end
end
