# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Tells a message that a database refuses from a database that is overloaded: both fail with the same errors (a time-out, a deadlock).
      # While different messages or partitions of the process fail with them, the database is at fault; a message that fails with them
      # again and again while no other does is taken for the cause. One of an application; any thread.
      class Contention
        def initialize
          @lock = Mutex.new
          @place = nil
          @count = 0
        end

        # @param place [Object] which message has failed, or the first of several
        # @return [Integer] how often in a row it was this one
        def note(place)
          @lock.synchronize do
            @count = 0 unless @place == place
            @place = place
            @count += 1
          end
        end
      end
    end
  end
end
