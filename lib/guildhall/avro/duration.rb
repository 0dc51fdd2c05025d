# frozen_string_literal: true

module Guildhall
  class Avro
    # Avro's duration: three numbers that cannot be added up, because months and days differ in length.
    Duration = Data.define(:months, :days, :milliseconds)
  end
end
