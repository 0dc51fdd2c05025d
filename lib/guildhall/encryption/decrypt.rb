# frozen_string_literal: true

module Guildhall
  class Encryption
    # Decrypts payloads. A task and a stage: `encryption.decrypt >> Guildhall::JSON.lazy`. Any Ractor may call it.
    class Decrypt
      include Pipeline::Composable

      # Made by {Encryption}.
      def initialize(keys, header)
        @keys = keys
        @header = header.dup.freeze
        Ractor.make_shareable(self)
      end

      # @param metadata [#headers, nil] of the message; needed where a header holds the key's id
      # @return [String] frozen, binary
      # @raise [UnknownKeyError]
      # @raise [Error]
      # @raise [TypeError] if it is not a String
      def call(bytes, metadata = nil)
        bytes = Envelope.string(bytes)
        opened = Envelope.open(bytes)
        id = id_of(opened, metadata) or raise Error, "neither the payload nor a header names a key"
        Envelope.decrypt(bytes, opened, id, @keys.fetch(id))
      end

      # Fetches, where keys are kept elsewhere, those that these payloads need. Blocks as that does; in the main Ractor only.
      # @param metadata [Array<#headers>, nil] one for each payload
      # @raise what the callable raises that was given for `keys`
      def prepare(payloads, metadata = nil)
        payloads.each_with_index.filter_map { |bytes, index| needed(bytes, metadata && metadata[index]) }.uniq
          .each { |id| @keys.prepare(id) }
        self
      end

      # @return [Symbol] what Failures and reports call the stage
      def stage_name = :decrypt

      # @return [String] without keys
      def inspect = "#<#{self.class} #{@keys.ids.join(", ")}>"

      private

      def needed(bytes, metadata)
        bytes && id_of(Envelope.open(bytes), metadata)
      rescue Error
        nil # `call` says what is wrong with it
      end

      def id_of(opened, metadata)
        opened.id || (@header && Array(metadata&.headers&.fetch(@header, nil)).last&.then { |id| Keys.id(id) })
      end
    end
  end
end
