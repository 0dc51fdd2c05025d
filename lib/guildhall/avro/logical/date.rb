# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # Days since 1970-01-01 ↔ ::Date.
      # @api private
      module Date
        EPOCH = Ractor.make_shareable(::Date.new(1970, 1, 1))

        # @return [String] for messages
        def self.expected = "date within 32 bits"

        def self.decode(days) = EPOCH + days

        # @param value [::Date, Numeric] a number counts days; of a DateTime its own day is taken, wherever it was
        def self.encode(value)
          case value
          when Numeric then Logical.whole(value)
          when ::Date then value.jd - EPOCH.jd
          end
        end
      end
    end
  end
end
