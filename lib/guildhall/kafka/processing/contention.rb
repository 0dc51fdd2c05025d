# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    module Processing
      # Tells messages that a database refuses from a database that is overloaded: both fail with the same errors (a time-out, a deadlock).
      # While many messages of the process fail with them, the database is at fault; a few that fail with them again and again are taken for
      # the cause. One of an application; any thread.
      #
      # A message fails from its first such error until it was consumed, or another one after it in its partition. One that was given up is
      # not over with that: if the next ones fail as well, they are many.
      class Contention
        # So many messages at most are taken for the cause at the same time.
        MAX_SUSPECTS = 3
        # One that is never heard of again, because its partition has gone to another member, say.
        FORGET_SECONDS = 3_600
        MAX_REMEMBERED = 100
        Failing = Struct.new(:failures, :latest)
        private_constant :FORGET_SECONDS, :MAX_REMEMBERED, :Failing

        # @param clock [#now]
        def initialize(clock: Clock)
          @clock = clock
          @lock = Mutex.new
          @failing = {} # the one that has failed last at the end
        end

        # @param place [Object] which message has failed, or the first of several
        # @return [Integer] how often it has, since not more than {MAX_SUSPECTS} do
        def note(place)
          @lock.synchronize do
            now = @clock.now
            one = @failing.delete(place) || Failing.new(0)
            one.latest = now
            @failing[place] = one
            forget(now)
            @failing.each_value { |other| other.failures = 0 } if @failing.size > MAX_SUSPECTS
            one.failures += 1
          end
        end

        # The database does what is asked of it.
        # @param places [Array<Object>] messages that do not fail any more
        # @return [void]
        def over(places)
          @lock.synchronize { places.each { |place| @failing.delete(place) } }
        end

        private

        def forget(now)
          @failing.shift while @failing.size > MAX_REMEMBERED || now - @failing.first.last.latest > FORGET_SECONDS
        end
      end
    end
  end
end
