# frozen_string_literal: true

module Guildhall
  class Encryption
    # Encrypts payloads. A task and a stage: `Guildhall.encode(Guildhall::JSON) >> encryption.encrypt`. Any Ractor may call it.
    class Encrypt
      include Pipeline::Composable

      # Made by {Encryption}.
      def initialize(keys, id, header)
        @keys = keys
        @id = id.dup.freeze
        @inside = header.nil?
        @keys.fetch(@id)
        Ractor.make_shareable(self)
      end

      # @return [String] frozen, binary; never the same twice
      # @raise [TypeError] if it is not a String
      def call(bytes) = Envelope.encrypt(Envelope.string(bytes), @id, @keys.fetch(@id), @inside)

      # @return [Symbol] what Failures and reports call the stage
      def stage_name = :encrypt

      # @return [String] without keys
      def inspect = "#<#{self.class} #{@id}>"
    end
  end
end
