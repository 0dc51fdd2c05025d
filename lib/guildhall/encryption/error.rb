# frozen_string_literal: true

module Guildhall
  class Encryption
    # A payload cannot be decrypted: it was changed, or encrypted with another key, or is not an envelope.
    class Error < DecodeError
      # @return [String, nil] the id of the key that it names
      attr_reader :key_id

      def initialize(reason = nil, key_id: nil, **)
        @key_id = key_id
        super(reason, codec: "Encryption", **)
      end
    end

    # A payload names an unknown key.
    class UnknownKeyError < Error; end
  end
end
