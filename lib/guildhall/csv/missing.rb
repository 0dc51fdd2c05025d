# frozen_string_literal: true

module Guildhall
  class CSV
    # Limits the fields that rows have fewer than the header. Each becomes a nil, or a separator: a wide header above many short rows
    # would make the square of the text's length of it. A table that is half empty stays far below the limit.
    module Missing
      FREE = 100_000 # fields, whatever the payload
      DEFAULT = 100 # fields for each one that is there
      MOST = 1_000_000
      private_constant :FREE

      # @param missing [Integer] fields
      # @param present [Integer] fields, with those of the header
      # @param most [Integer] that may be missing for each one that is present
      # @return [String, nil] why it is refused; nil: it is not
      def self.refusal(missing, present, most)
        return if missing <= FREE + (most * present)

        "rows lack more than #{FREE} fields and more than max_missing, #{most}, for each field that is there"
      end
    end
    private_constant :Missing
  end
end
