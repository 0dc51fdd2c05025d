# frozen_string_literal: true

module Guildhall
  class Encryption
    # Hybrid Public Key Encryption, RFC 9180, in base mode and for single messages: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-GCM.
    # Any Ractor may use it.
    # @api private
    class HPKE
      CURVE = "X25519"
      KEY_BYTES = 32 # of a public and of a private key, and of what is sent of the ephemeral one
      KEM = ["KEM", 0x0020].pack("a*n").freeze
      # The numbers and the sizes of AES-GCM.
      CIPHERS = {"aes-128-gcm" => [1, 16], "aes-256-gcm" => [2, 32]}.freeze
      NONCE_BYTES = 12
      private_constant :KEM, :CIPHERS, :NONCE_BYTES

      # @param info [String] what both sides know the key is for
      def initialize(info, cipher: "aes-256-gcm")
        number, @key_bytes = CIPHERS.fetch(cipher)
        @cipher = cipher
        @suite = ["HPKE", 0x0020, 0x0001, number].pack("a*nnn").freeze
        @info = info.b.freeze
        Ractor.make_shareable(self)
      end

      # @param key [String] the receiver's public key
      # @param ephemeral [String, nil] a private key, for tests; nil: a new one
      # @return [String] what is sent of the ephemeral key, the encrypted bytes and the tag
      def seal(key, bytes, covered, ephemeral: nil)
        own = ephemeral ? private_key(ephemeral) : OpenSSL::PKey.generate_key(CURVE)
        sent = own.raw_public_key
        secret = shared(own.derive(OpenSSL::PKey.new_raw_public_key(CURVE, key)), sent, key)
        [sent, *GCM.seal(@cipher, *schedule(secret), bytes, covered)].join
      end

      # @param key [String] the receiver's private key
      # @return [String]
      # @raise [OpenSSL::Cipher::CipherError]
      def open(key, sealed, covered)
        own = private_key(key)
        sent = sealed.byteslice(0, KEY_BYTES)
        secret = shared(own.derive(OpenSSL::PKey.new_raw_public_key(CURVE, sent)), sent, own.raw_public_key)
        GCM.open(@cipher, *schedule(secret), sealed.byteslice(KEY_BYTES..), covered)
      end

      private

      def private_key(bytes) = OpenSSL::PKey.new_raw_private_key(CURVE, bytes)

      # ExtractAndExpand of section 4.1.
      def shared(secret, sent, receiver)
        expand(extract("", "eae_prk", secret, KEM), "shared_secret", sent + receiver, 32, KEM)
      end

      # KeySchedule of section 5.1, without a pre-shared key.
      # @return [Array(String, String)] the key and the nonce
      def schedule(shared)
        context = ["\0", extract("", "psk_id_hash", "", @suite), extract("", "info_hash", @info, @suite)].map(&:b).join
        secret = extract(shared, "secret", "", @suite)
        [expand(secret, "key", context, @key_bytes, @suite), expand(secret, "base_nonce", context, NONCE_BYTES, @suite)]
      end

      # LabeledExtract and LabeledExpand of section 4; one block of SHA-256 is as much as is ever needed.
      def extract(salt, label, bytes, suite) = hmac(salt, labeled(suite, label, bytes))
      def expand(key, label, info, size, suite) = hmac(key, "#{[size].pack("n")}#{labeled(suite, label, info)}\x01".b).byteslice(0, size)
      def labeled(suite, label, bytes) = ["HPKE-v1", suite, label, bytes].map(&:b).join
      def hmac(key, bytes) = OpenSSL::HMAC.digest("SHA256", key, bytes)
    end
  end
end
