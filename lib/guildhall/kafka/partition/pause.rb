# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Why a partition rests: a set of reasons, each with an end of its own. It rests while any of them holds, so that a
      # user's pause outlasts a back-off, and quiet outlasts both. With the lock of {Inbox} held.
      #
      #     reason        | until
      #     :user         | {Consumer#resume}, or the time that {Consumer#pause} was given
      #     :backoff      | its time
      #     :filter       | the time that a filter has asked for
      #     :keys         | a parked key makes progress
      #     :dead_letters | the brokers have the dead letters
      #     :forwarding   | the brokers have what a consumer sends on
      #     :quiet        | {Runtime#resume}
      class Pause
        Rest = Struct.new(:alarm)
        private_constant :Rest

        # @yield [reason, rest] called by the timer, without the lock, when the time of a pause is over: returns what {#finish} says
        def initialize(timer, &on_time)
          @timer = timer
          @on_time = on_time
          @rests = {}
        end

        # @param reason [Symbol] another pause for the same reason takes the place of the first
        # @param seconds [Numeric, nil] nil: until {#finish}
        # @yield called by the timer, without the lock, where its time has ended it
        # @return [Rest] see {#finish}
        def start(reason, seconds = nil, &ended)
          finish(reason)
          rest = @rests[reason] = Rest.new
          rest.alarm = @timer.after(seconds) { ended&.call if @on_time.call(reason, rest) } if seconds
          rest
        end

        # @param rest [Rest, nil] only this one, not one that began later; nil: whichever there is
        # @return [Boolean] whether it was the one for that reason
        def finish(reason, rest = @rests[reason])
          return false unless rest && @rests[reason].equal?(rest)

          @rests.delete(reason)
          @timer.cancel(rest.alarm)
          true
        end

        def finish_all = reasons.each { |reason| finish(reason) }

        def active? = !@rests.empty?

        # @return [Boolean] whether parked keys are not tried either
        def suspended? = @rests.key?(:user) || @rests.key?(:quiet)

        # @return [Array<Symbol>] those that hold now
        def reasons = @rests.keys
      end
    end
  end
end
