# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # Instants, as a number of units since 1970. Times are converted in C; this takes what else is given.
      class Timestamp
        # @param units [Integer] in a second
        def initialize(units)
          @units = units
          freeze
        end

        # @return [Time] in UTC
        def decode(number)
          seconds, rest = number.divmod(@units)
          Time.at(seconds, rest * (1_000_000_000 / @units), :nanosecond, in: "UTC").freeze
        end

        # @param value [Numeric, Time, Date, DateTime, #to_time] a number counts units
        # @return [Integer, nil]
        def encode(value)
          return Logical.whole(value) if value.is_a?(Numeric)
          return if value.is_a?(String) || !value.respond_to?(:to_time) # Active Support gives Strings a to_time

          time = value.to_time
          (time.to_i * @units) + (time.nsec / (1_000_000_000 / @units))
        end

        MILLIS = new(1_000)
        MICROS = new(1_000_000)
        NANOS = new(1_000_000_000)
      end
    end
  end
end
