# frozen_string_literal: true

require_relative "growing_pause"

module Guildhall
  module Kafka
    # When an outage is reported: each of its reasons at once, then again with growing pauses, whatever other reasons come between.
    # Not thread-safe.
    class Reminders
      PAUSES = 10..600 # seconds between two reports of the same reason
      MAX_REASONS = 20
      Reason = Struct.new(:due, :pause)
      private_constant :Reason

      def initialize
        @reasons = {}
      end

      # @return [Boolean] whether a reason has been reported
      def any? = @reasons.any?

      # @param reason [Object] what makes two reports the same
      # @param now [Numeric] seconds, of a monotonic clock
      # @return [Boolean] whether it is to be reported now; the next report of this reason comes after a longer pause then
      def due?(reason, now)
        @reasons.shift if @reasons.size >= MAX_REASONS && !@reasons.key?(reason)
        one = @reasons[reason] ||= Reason.new(now, GrowingPause.new(PAUSES))
        return false if now < one.due

        one.due = now + one.pause.grow
        true
      end
    end
  end
end
