# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Runtime
      # Tells messages that a database refuses from a database that is overloaded: both fail with the same errors (a time-out, a deadlock).
      # While different messages of the process fail with them, the database is at fault. A message is taken for the cause if it alone
      # fails, again and again, or if few do while others of its topic are consumed. One of an application; any thread.
      #
      # A message fails from its first such error until it was consumed, or another one after it in its partition. Giving a
      # message up does not end its failing: if the next one fails as well, they are two.
      # @api private
      class Contention
        # The maximum number of messages that are taken for the cause at the same time.
        MAX_SUSPECTS = 3
        # One that is never heard of again, because its partition has gone to another member, say.
        FORGET_SECONDS = 3_600
        MAX_REMEMBERED = 100
        Failing = Struct.new(:failures, :latest)
        private_constant :FORGET_SECONDS, :MAX_REMEMBERED, :Failing

        def initialize(clock: Clock)
          @clock = clock
          @lock = Mutex.new
          @failing = {} # the one that has failed last at the end
          @consumed = {} # topic => when some of its messages were consumed
        end

        # Some messages of the topic were consumed. Takes no lock: it is called for each batch.
        def consumed(topic) = @consumed[topic] = @clock.now

        # @param message [Object] which one has failed, or the first of several
        # @return [Integer] how often it has, while it could be told from an overloaded database
        def note(message, topic)
          @lock.synchronize do
            now = @clock.now
            one = @failing.delete(message) || Failing.new(0)
            forget(now)
            one.failures += 1 if @failing.empty? || consumed_since?(topic, one.latest)
            one.latest = now
            @failing[message] = one
            @failing.each_value { |other| other.failures = 0 } if @failing.size > MAX_SUSPECTS
            one.failures
          end
        end

        # The database does what is asked of it: these messages do not fail any more.
        def over(messages)
          @lock.synchronize { messages.each { |message| @failing.delete(message) } }
        end

        private

        def consumed_since?(topic, time)
          consumed = @consumed[topic]
          consumed && time && consumed > time
        end

        def forget(now)
          @failing.shift while @failing.any? && (@failing.size >= MAX_REMEMBERED || now - @failing.first.last.latest > FORGET_SECONDS)
        end
      end
    end
  end
end
