# frozen_string_literal: true

require_relative "../time_of_day"

module Guildhall
  class Avro
    class Logical
      # Units since midnight ↔ {Avro::TimeOfDay}.
      # @api private
      class TimeOfDay
        DAY = 86_400

        # @param units [Integer] in a second
        def initialize(units)
          @units = units
          freeze
        end

        # @return [String] for messages
        def expected = "time of day"

        # @return [Avro::TimeOfDay, nil] nil beyond one day: 24:00:00 is, and what is negative
        def decode(number)
          Avro::TimeOfDay.new(number * (1_000_000_000 / @units)) if within_day?(number)
        end

        # @param value [Avro::TimeOfDay, Integer, Time] a number counts units; of a Time its clock is taken
        def encode(value)
          number = units_of(value)
          number if number && within_day?(number)
        end

        private

        def within_day?(number) = number.between?(0, (DAY * @units) - 1)

        def units_of(value)
          case value
          when Integer then value
          when Avro::TimeOfDay then value.nanoseconds / (1_000_000_000 / @units)
          when Time then (((((value.hour * 60) + value.min) * 60) + value.sec) * @units) + (value.nsec / (1_000_000_000 / @units))
          end
        end

        MILLIS = new(1_000)
        MICROS = new(1_000_000)
      end
    end
  end
end
