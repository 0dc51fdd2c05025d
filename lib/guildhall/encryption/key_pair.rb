# frozen_string_literal: true

require_relative "hpke"

module Guildhall
  class Encryption
    # An X25519 key pair's public half: who has it can encrypt, and cannot read. Frozen and shareable.
    #
    # What it encrypts is a message of HPKE (RFC 9180, base mode; DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM), with
    # "guildhall" as the info and the envelope's version and key id as additional data. Each payload has an ephemeral key of its own.
    class PublicKey
      # @api private
      VERSION = 2
      # @api private
      LEAST_BYTES = HPKE::KEY_BYTES + SecretKey::TAG_BYTES
      HYBRID = HPKE.new("guildhall")
      private_constant :HYBRID

      # @param key [String] PEM, or 32 bytes
      # @raise [Guildhall::ArgumentError] for what is no X25519 public key
      def initialize(key)
        @bytes = KeyPair.bytes(key, "public") { |pem| OpenSSL::PKey.read(pem).raw_public_key }
        freeze
      end

      # @return [String] PEM
      def to_pem = OpenSSL::PKey.new_raw_public_key(HPKE::CURVE, @bytes).public_to_pem

      # @return [Boolean]
      def ==(other) = other.is_a?(PublicKey) && other.to_pem == to_pem

      # @!visibility private
      def version = VERSION

      # (see SecretKey#seal)
      # @!visibility private
      def seal(bytes, covered) = HYBRID.seal(@bytes, bytes, covered)

      # @!visibility private
      def open(_body, _covered)
        raise Error, "to read it takes the private key, and there is only the public one"
      end
    end

    # Both halves: who has it can read. Frozen and shareable; not shown by `inspect`.
    #
    # @example
    #   pair = Guildhall::Encryption::PrivateKey.generate
    #   writing = Guildhall::Encryption.new({"2026" => pair.public_key}).encrypt   # in the producer
    #   reading = Guildhall::Encryption.new({"2026" => pair}).decrypt              # in the consumer
    class PrivateKey
      HYBRID = PublicKey.const_get(:HYBRID)
      private_constant :HYBRID

      # @return [PrivateKey] a new one
      def self.generate = new(OpenSSL::PKey.generate_key(HPKE::CURVE).raw_private_key)

      # @return [PublicKey]
      attr_reader :public_key

      # @param key [String] PEM, or 32 bytes
      # @param password [String, nil] of the PEM
      # @raise [Guildhall::ArgumentError] for what is no X25519 private key
      def initialize(key, password = nil)
        @bytes = KeyPair.bytes(key, "private") { |pem| OpenSSL::PKey.read(pem, password.to_s).raw_private_key }
        @public_key = PublicKey.new(OpenSSL::PKey.new_raw_private_key(HPKE::CURVE, @bytes).raw_public_key)
        freeze
      end

      # @return [String] PEM, not encrypted: a secret
      def to_pem = OpenSSL::PKey.new_raw_private_key(HPKE::CURVE, @bytes).private_to_pem

      # @return [String] without the key
      def inspect = "#<#{self.class}>"
      alias to_s inspect

      # @!visibility private
      def version = PublicKey::VERSION

      # (see SecretKey#seal)
      # @!visibility private
      def seal(bytes, covered) = @public_key.seal(bytes, covered)

      # (see SecretKey#open)
      # @!visibility private
      def open(body, covered)
        HYBRID.open(@bytes, body, covered)
      rescue OpenSSL::PKey::PKeyError
        raise OpenSSL::Cipher::CipherError, "the ephemeral key was changed"
      end
    end

    # @api private
    module KeyPair
      # @param key [String] PEM, or raw bytes
      # @yieldparam pem [String]
      # @return [String] frozen
      def self.bytes(key, kind)
        raise Guildhall::ArgumentError, "a #{kind} key is a String, of PEM or of 32 bytes" unless key.is_a?(String)

        bytes = key.include?("-----BEGIN") ? yield(key) : key
        raise Guildhall::ArgumentError, "a #{kind} key has 32 bytes, or is PEM" unless bytes.bytesize == HPKE::KEY_BYTES

        bytes.b.freeze
      rescue OpenSSL::OpenSSLError
        raise Guildhall::ArgumentError, "this PEM has no X25519 #{kind} key, or needs another password; make one with " \
                                        "Guildhall::Encryption::PrivateKey.generate.to_pem", cause: nil
      end
    end
  end
end
