# frozen_string_literal: true

module Guildhall
  class Avro
    class Logical
      # Instants, or what a clock shows, as a number of units since 1970. Times are converted in C; this takes what else is given.
      # @api private
      class Timestamp
        DAY = 86_400
        private_constant :DAY

        # @param units [Integer] in a second
        # @param local [Boolean] whether a time's clock counts, wherever that is; false: the instant
        def initialize(units, local: false)
          @units = units
          @local = local
          freeze
        end

        # @return [String] for messages
        def expected = "timestamp within 64 bits"

        # @return [Time] in UTC
        def decode(number)
          seconds, rest = number.divmod(@units)
          Time.at(seconds, rest * (1_000_000_000 / @units), :nanosecond, in: "UTC").freeze
        end

        # @param value [Numeric, Time, Date, DateTime, #to_time] a number counts units; a Date is its midnight in UTC
        def encode(value)
          case value
          when Numeric then Logical.whole(value)
          when String then nil # Active Support gives it a to_time
          when ::DateTime then units_of(value)
          when ::Date then (value.jd - Date::EPOCH.jd) * DAY * @units
          else units_of(value) if value.respond_to?(:to_time)
          end
        end

        private

        # An object's own offset: its to_time may have that of the process.
        def units_of(value)
          time = value.to_time
          seconds = time.to_i
          seconds += (value.respond_to?(:utc_offset) ? value : time).utc_offset if @local
          (seconds * @units) + (time.nsec / (1_000_000_000 / @units))
        end

        MILLIS = new(1_000)
        MICROS = new(1_000_000)
        NANOS = new(1_000_000_000)
        LOCAL_MILLIS = new(1_000, local: true)
        LOCAL_MICROS = new(1_000_000, local: true)
        LOCAL_NANOS = new(1_000_000_000, local: true)
      end
    end
  end
end
