# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # UUIDs are Strings with dashes, whether they travel as text or as sixteen bytes.
      # @api private
      module UUID
        EXPECTED = "uuid"
        FORM = /\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/u

        # As text.
        module TEXT
          # @return [String] for messages
          def self.expected = EXPECTED

          # @return [String, nil] nil: a String all the same, which is given as it is
          def self.decode(text) = (text if text.ascii_only? && FORM.match?(text))

          def self.encode(text) = (decode(text) if text.is_a?(String))
        end

        # As sixteen bytes.
        module BYTES
          # @return [String] for messages
          def self.expected = EXPECTED

          def self.decode(bytes) = bytes.unpack("H8H4H4H4H12").join("-").force_encoding(Encoding::UTF_8)

          def self.encode(text) = ([text.delete("-")].pack("H*") if TEXT.encode(text))
        end
      end
    end
  end
end
