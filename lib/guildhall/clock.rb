# frozen_string_literal: true

require "timeout"
require_relative "errors"

module Guildhall
  # The time that deadlines are reckoned in.
  # @api private
  module Clock
    # Never goes back, whatever happens to the system's time. Any Ractor.
    # @return [Float] seconds since some moment
    def self.now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # @param timeout [Numeric, nil] seconds from now; nil: no limit
    # @return [Float, nil] of this clock; nil: none
    # @raise [Guildhall::ArgumentError] for what is no time
    def self.deadline(timeout)
      return if timeout.nil?
      return now + timeout if timeout.is_a?(Numeric) && timeout.real? && timeout >= 0

      raise Guildhall::ArgumentError, "timeout must be 0 or more seconds, not #{timeout.inspect}"
    end

    # @param deadline [Float] of this clock
    # @param least [Numeric] what is left at least
    # @return [Numeric] seconds until then, as far as a thread can wait
    def self.left(deadline, least: 0)
      (deadline - now).clamp(least, LONGEST_SECONDS)
    end

    # Runs the block, and interrupts it at the deadline as a plain `Timeout.timeout` does. Main Ractor.
    # @param deadline [Float, nil] of this clock; nil: none
    # @return [Object, nil] what the block returns; nil when it was interrupted, or the deadline was past
    def self.within(deadline, &)
      return yield unless deadline

      left = deadline - now
      Timeout.timeout(left, &) if left.positive?
    rescue Timeout::Error
      raise if deadline && now < deadline - TOLERANCE
    end

    LONGEST_SECONDS = 1_000_000_000 # Ruby refuses to wait until a time that no clock shows, or does not wait at all
    TOLERANCE = 0.001
    private_constant :LONGEST_SECONDS, :TOLERANCE
  end
end
