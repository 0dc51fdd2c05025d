# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Partition
      # Why a partition rests: a set of reasons, each with an end of its own. It rests while any of them holds, so that a
      # user's pause outlasts a back-off, and quiet outlasts both. With the lock of {Inbox} held.
      class Pause
        # What ends them: {Consumer#resume}, the back-off's time, the time that a filter has asked for, a parked key that has moved on,
        # the broker's confirmation that it has the dead letters, or what a consumer sends on, nothing.
        REASONS = %i[user backoff filter keys dead_letters forwarding quiet].freeze
        # In which parked keys are not tried either.
        COMPLETE = %i[user quiet].freeze

        Rest = Data.define(:ends_at, :alarm)
        private_constant :Rest

        # @yield called by the timer when a reason with a time may have ended
        def initialize(timer, &on_end)
          @timer = timer
          @on_end = on_end
          @rests = {}
        end

        # @param reason [Symbol] one of {REASONS}; another pause for the same reason takes the place of the first
        # @param seconds [Numeric, nil] nil: until {#finish}
        # @return [Rest] see {#finish}
        def start(reason, seconds = nil)
          finish(reason)
          ends_at = seconds ? Clock.now + seconds : Float::INFINITY
          @rests[reason] = Rest.new(ends_at:, alarm: (@timer.after(seconds, &@on_end) if seconds))
        end

        # @param rest [Rest, nil] only this one, not one that began later; nil: whichever there is
        # @return [Boolean] whether it was the one for that reason
        def finish(reason, rest = @rests[reason])
          return false unless rest && rest.equal?(@rests[reason])

          @rests.delete(reason)
          @timer.cancel(rest.alarm)
          true
        end

        def finish_all
          @rests.keys.each { |reason| finish(reason) }
        end

        def active?
          !@rests.empty? && reasons.any?
        end

        # @return [Boolean] whether nothing at all is to be done
        def complete?
          !@rests.empty? && reasons.intersect?(COMPLETE)
        end

        # @return [Array<Symbol>] those that hold now
        def reasons
          now = Clock.now
          @rests.filter_map { |reason, rest| reason if now < rest.ends_at }
        end
      end
    end
  end
end
