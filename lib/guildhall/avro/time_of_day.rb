# frozen_string_literal: true

module Guildhall
  class Avro
    # A time without a date: what Avro's time-millis and time-micros are. Frozen, shareable, comparable.
    TimeOfDay = Data.define(:nanoseconds) do
      include Comparable

      def hour = nanoseconds / 3_600_000_000_000
      def minute = nanoseconds / 60_000_000_000 % 60
      def second = nanoseconds / 1_000_000_000 % 60
      # @return [Integer] of the second
      def nanosecond = nanoseconds % 1_000_000_000

      def <=>(other)
        nanoseconds <=> other.nanoseconds if other.is_a?(self.class)
      end

      # @return [String] such as 13:07:59.000250
      def to_s = format("%02d:%02d:%02d.%06d", hour, minute, second, nanosecond / 1000)
    end
  end
end
