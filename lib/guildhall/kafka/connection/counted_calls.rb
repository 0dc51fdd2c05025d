# frozen_string_literal: true

module Guildhall
  module Kafka
    module Connection
      # The gem counts the calls that use a client of librdkafka, and closing the client waits until none does. A thread that is killed, or
      # interrupted, just before its call was counted would be subtracted all the same, and closing would wait for ever. With this
      # module only what was counted is subtracted. It costs no more than the gem's own way, for a producer calls it for each message.
      module CountedCalls
        # @return [Rdkafka::NativeKafka, nil] the client's, with this module; nil: it has none, but is a double
        def self.of(client) = client.instance_variable_get(:@native_kafka)&.extend(self)

        # Ruby interrupts a thread at calls and branches: there are none between counting and the note that it was counted, and none before
        # the subtraction.
        # @return [Object] what the block returns
        # @raise [Rdkafka::ClosedInnerError]
        def with_inner
          counted = 0
          if @access_mutex.owned?
            @operations_in_progress += 1
            counted = 1
          else
            @access_mutex.synchronize do
              @operations_in_progress += 1
              counted = 1
            end
          end
          @inner.nil? ? raise(Rdkafka::ClosedInnerError) : yield(@inner)
        ensure
          @operations_in_progress -= counted
        end
      end
    end
  end
end
