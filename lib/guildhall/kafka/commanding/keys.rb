# frozen_string_literal: true

require "openssl"
require_relative "../errors"

module Guildhall
  module Kafka
    module Commanding
      # The two keys of commands, Ed25519: the private one signs, and belongs to the page and to whoever uses `guildhall command`; the
      # public one checks, and belongs to every process that takes commands. Written as PEM, or as the base 64 within it, in one line.
      module Keys
        PUBLIC = "GUILDHALL_COMMANDS_KEY"
        PRIVATE = "GUILDHALL_COMMANDS_PRIVATE_KEY" # environment variables
        ADVICE = "guildhall command keys prints a pair"
        KIND = "ED25519"
        private_constant :KIND

        class << self
          # @return [Array(String, String)] a new pair: the private key, and the public one
          def generate
            key = OpenSSL::PKey.generate_key(KIND)
            [key.private_to_der, key.public_to_der].map { |der| [der].pack("m0") }
          end

          # @return [OpenSSL::PKey::PKey]
          # @raise [Guildhall::ArgumentError] saying what is wrong with it, without quoting it
          def public(text)
            key = read(text)
            raise Guildhall::ArgumentError, "is the private key, which only the page needs: give the public one here" if private?(key)

            key
          end

          # (see .public)
          def private(text)
            key = read(text)
            raise Guildhall::ArgumentError, "is the public key: the private one signs" unless private?(key)

            key
          end

          # @return [String] of so many bytes
          def sign(key, bytes) = key.sign(nil, bytes)

          def signed?(key, bytes, signature)
            signature.is_a?(String) && key.verify(nil, signature, bytes)
          rescue OpenSSL::PKey::PKeyError # it has another length
            false
          end

          private

          # In an environment variable the line breaks of PEM may be written as `\n`.
          def read(text)
            raise Guildhall::ArgumentError, "is missing: #{ADVICE}" if text.nil? || (text.is_a?(String) && text.strip.empty?)
            raise Guildhall::ArgumentError, "must be a String, not #{text.class}" unless text.is_a?(String)

            bytes = text.gsub("\\n", "\n").gsub(/-----[A-Z ]+-----/, "").gsub(/\s+/, "").unpack1("m0")
            key = OpenSSL::PKey.read(bytes, "") # without a pass phrase OpenSSL asks the terminal for it
            return key if key.oid == KIND

            raise Guildhall::ArgumentError, "must be an Ed25519 key, not #{key.oid}: #{ADVICE}"
          rescue ::ArgumentError, EncodingError, OpenSSL::PKey::PKeyError => error
            raise if error.is_a?(Guildhall::Error)

            raise Guildhall::ArgumentError, "is no key, neither PEM nor base 64: #{ADVICE}"
          end

          def private?(key)
            key.raw_private_key
            true
          rescue OpenSSL::PKey::PKeyError
            false
          end
        end
      end
    end
  end
end
