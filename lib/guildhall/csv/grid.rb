# frozen_string_literal: true

module Guildhall
  class CSV
    # Rows get every column, also those that they have no field for: a wide header above many short rows would make the square of the
    # text's length of it, and a column for each key of each row the same when writing.
    module Grid
      FREE = 100_000 # fields
      TIMES = 100    # the fields that are there

      # @param columns [Integer]
      # @param rows [Integer]
      # @param fields [Integer] that are there
      # @return [Boolean] whether nearly all fields would be empty
      def self.sparse?(columns, rows, fields) = columns * rows > FREE + (TIMES * fields)
    end
    private_constant :Grid
  end
end
