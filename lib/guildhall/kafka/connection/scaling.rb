# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Connection
      # Decides when a group gets a member more in this process, or one less: after it has been behind for some time, or has
      # been caught up for a longer time. Each change is a rebalance, so the time starts again with it. Used by one thread.
      class Scaling
        def initialize(multiplexing)
          @multiplexing = multiplexing
          @behind = nil
          @since = nil
        end

        # To be called whenever the lag was measured.
        # @param members [Integer] that there are now
        # @param partitions [Integer] that they have: a member without one would read nothing
        # @param lag [Numeric] seconds, of the partition that is furthest behind
        # @return [Integer] 1, -1, or 0: as many as before
        def change(members, partitions, lag, now: Clock.now)
          follow(lag > @multiplexing.lag, now)
          change = due(members, partitions, now - @since)
          @since = now unless change.zero?
          change
        end

        private

        def follow(behind, now)
          return if behind == @behind

          @behind = behind
          @since = now
        end

        def due(members, partitions, seconds)
          if @behind
            seconds >= @multiplexing.grow_after && members < [@multiplexing.maximum, partitions].min ? 1 : 0
          else
            seconds >= @multiplexing.shrink_after && members > @multiplexing.minimum ? -1 : 0
          end
        end
      end
    end
  end
end
