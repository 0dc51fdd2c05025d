# frozen_string_literal: true

require "guildhall/growing_pauses"

module Guildhall
  module Kafka
    # When an outage is reported: each of its reasons at once, then again with growing pauses, whatever other reasons come between. The
    # first report of an outage is no reminder, all others are. One object for each outage. Not thread-safe.
    class Reminders
      PAUSES = GrowingPauses.new(10, 600) # seconds between two reports of the same reason
      MAX_REASONS = 20
      Reason = Struct.new(:due, :pause)
      private_constant :Reason

      def initialize
        @reasons = {}
        @announced = false
      end

      # @param reason [Object] what makes two reports the same
      # @param now [Numeric] seconds, of a monotonic clock
      # @return [Boolean] whether it is to be reported now; the next report of this reason comes after a longer pause then
      def due?(reason, now)
        @reasons.shift if @reasons.size >= MAX_REASONS && !@reasons.key?(reason)
        one = @reasons[reason] ||= Reason.new(now, nil)
        return false if now < one.due

        one.pause = PAUSES.after(one.pause)
        one.due = now + one.pause
        true
      end

      # Called when one is reported, which may be later than when it was due, and in another order.
      # @return [Boolean] whether it is a reminder: another one has been reported before
      def announce = @announced.tap { @announced = true }
    end
  end
end
