# frozen_string_literal: true

module Guildhall
  class Pool
    # Opens when workers die too often: then none are replaced, and the pool's work is done by its callers, until a pause
    # is over.
    class CircuitBreaker
      # @param deaths [Integer] worker crashes that open it
      # @param window [Numeric] seconds within which they are counted
      # @param pause [Numeric] seconds that it stays open
      def initialize(deaths:, window:, pause:)
        @deaths = deaths
        @window = window
        @pause = pause
        @times = []
        @open_until = nil
      end

      # @return [Boolean] whether this death opened it
      def died
        now = Clock.now
        @times = [*@times.select { |time| time > now - @window }, now]
        return false if @times.size < @deaths || open?

        @times = []
        @open_until = now + @pause
        true
      end

      # @return [Boolean]
      def open?
        !@open_until.nil? && Clock.now < @open_until
      end
    end
  end
end
