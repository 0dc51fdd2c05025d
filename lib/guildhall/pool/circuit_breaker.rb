# frozen_string_literal: true

module Guildhall
  class Pool
    # Opens when so many workers die within a window of seconds: then none are replaced, and the pool's work is done by its callers,
    # until a pause is over.
    class CircuitBreaker
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

      def open?
        !@open_until.nil? && Clock.now < @open_until
      end
    end
  end
end
