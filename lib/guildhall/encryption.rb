# frozen_string_literal: true

require "openssl"
require_relative "errors"
require_relative "shareable"
require_relative "shared_cache"
require_relative "pipeline"

module Guildhall
  # Encrypted payloads: AES-256-GCM by OpenSSL, as stages of pipelines. Frozen and shareable; both stages run in workers.
  #
  # @example
  #   encryption = Guildhall::Encryption.new({"2025" => old_key, "2026" => new_key})
  #   events = encryption.decrypt >> Guildhall::JSON.lazy                    # reads both, by the id in each payload
  #   writing = Guildhall.encode(Guildhall::JSON) >> encryption.encrypt     # writes with the last one
  #
  # A key is 32 bytes that encrypt and decrypt, or a {PublicKey}, with which one can only write, and its {PrivateKey}, with which one can
  # read.
  #
  # With 32 bytes a payload is a version byte, the key's id, a random nonce of 96 bits, the encrypted bytes and a tag of 128 bits; the
  # tag covers the id as well. Nonces are random, so replace a key before it has encrypted 2**32 payloads (NIST SP 800-38D,
  # 8.3). Keys, and what was encrypted, are never in messages of errors nor in `inspect`.
  class Encryption
    # The stage that decrypts.
    attr_reader :decrypt

    # @param keys [Hash{String=>String, PublicKey, PrivateKey}, #call] key id → 32 bytes, or half of a key pair. Or what is called with a
    #   key id, in the main Ractor, and returns one, or nil where there is no such key: for keys in a vault. It has to be shareable, as
    #   a module with `self.call` is; what it returns is kept
    # @param write [String, nil] the id of the key to encrypt with; nil: the last of the Hash
    # @param header [String, nil] the name of the message header that holds the key's id; nil: it is part of the payload
    # @raise [Guildhall::ArgumentError] naming the id of a key that is not 32 bytes long
    # @raise [NotShareableError]
    def initialize(keys, write: nil, header: nil)
      @keys = Keys.new(keys)
      @write = write ? Keys.id(write) : @keys.last
      @header = header&.to_s
      @decrypt = Decrypt.new(@keys, @header)
      @encrypt = @write && Encrypt.new(@keys, @write, @header)
      Ractor.make_shareable(self)
    end

    # The stage that encrypts. With `header:`, add {#headers} to the message.
    # @raise [Guildhall::ArgumentError] where `keys` is a callable and `write:` was not given
    def encrypt
      @encrypt or raise Guildhall::ArgumentError, "say which key to encrypt with: Guildhall::Encryption.new(keys, write: id)"
    end

    # @return [Hash{String=>String}] what has to be among the headers of messages that are encrypted with {#encrypt}
    def headers = @header && @write ? {@header => @write}.freeze : {}.freeze

    # @return [String] without keys
    def inspect = "#<#{self.class} #{@keys.ids.join(", ")}>"
    alias to_s inspect
  end
end

require_relative "encryption/error"
require_relative "encryption/secret_key"
require_relative "encryption/key_pair"
require_relative "encryption/envelope"
require_relative "encryption/keys"
require_relative "encryption/decrypt"
require_relative "encryption/encrypt"
