# frozen_string_literal: true

module Guildhall
  class Avro
    # Avro's duration: three numbers that cannot be added up, because months and days differ in length.
    # @!attribute months [Integer] 0 to 4,294,967,295, as the others
    # @!attribute days [Integer]
    # @!attribute milliseconds [Integer]
    Duration = Data.define(:months, :days, :milliseconds)
  end
end
