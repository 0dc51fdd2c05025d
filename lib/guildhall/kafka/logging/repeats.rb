# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/growing_pauses"

module Guildhall
  module Kafka
    module Logging
      # Lets a line through that was not there lately, and counts those it holds back. Not thread-safe.
      class Repeats
        # How many lines are remembered; beyond that, those that have not come lately are forgotten.
        MAX_SEEN_LINES = 500
        Seen = Struct.new(:since, :latest, :due, :pause, :times)
        private_constant :Seen

        # @param pause [Numeric] seconds before the same line is let through again
        # @param most [Numeric] seconds that this pause grows to, doubling each time; it is forgotten after a pause without
        # @param clock [#call] seconds
        def initialize(pause, most = pause, clock: Clock.method(:now))
          @clock = clock
          @pauses = GrowingPauses.new(pause, most)
          @seen = {}
        end

        # @param key [Object] what makes a line the same
        # @return [Array(Integer, Float), nil] how often it came since it was let through last, this time included, and for how
        #   many seconds it has been coming; nil: not now
        def admit(key)
          now = @clock.call
          seen = @seen[key]
          return admit_first(key, now) if seen.nil? || now - seen.latest > seen.pause * 2

          seen.times += 1
          seen.latest = now
          return if now < seen.due

          count = seen.times
          seen.pause = @pauses.after(seen.pause)
          seen.due = now + seen.pause
          seen.times = 0
          [count, now - seen.since]
        end

        private

        def admit_first(key, now)
          @seen.delete_if { |_, seen| now - seen.latest > seen.pause * 2 } if @seen.size >= MAX_SEEN_LINES
          @seen.shift if @seen.size >= MAX_SEEN_LINES
          @seen[key] = Seen.new(now, now, now + @pauses.first, @pauses.first, 0)
          [1, 0.0]
        end
      end
    end
  end
end
