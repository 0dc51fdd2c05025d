# frozen_string_literal: true

module Guildhall
  # The time that deadlines are reckoned in.
  module Clock
    # Never goes back, whatever happens to the system's time. Any Ractor.
    # @return [Float] seconds since some moment
    def self.now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # @param deadline [Float] of this clock
    # @param least [Numeric] what is left at least
    # @return [Numeric] seconds until then
    def self.left(deadline, least: 0)
      [deadline - now, least].max
    end
  end
end
