# frozen_string_literal: true

module Guildhall
  module Kafka
    module Connection
      # The gem counts the calls that use a client of librdkafka, and closing the client waits until none does. A thread that is killed, or
      # interrupted, just before its call was counted would be subtracted all the same, and closing would wait for ever. With this
      # module interruptions come while the call runs, not while it is counted.
      module CountedCalls
        NEVER = {Object => :never}.freeze
        IMMEDIATE = {Object => :immediate}.freeze
        private_constant :NEVER, :IMMEDIATE

        # @param client [Rdkafka::Consumer, Rdkafka::Producer, Rdkafka::Admin]
        # @return [Rdkafka::NativeKafka, nil] the client's, with this module; nil: it has none, but is a double
        def self.of(client) = client.instance_variable_get(:@native_kafka)&.extend(self)

        # @yieldparam handle [FFI::Pointer]
        # @return [Object] what the block returns
        def with_inner
          Thread.handle_interrupt(NEVER) do
            super { |handle| Thread.handle_interrupt(IMMEDIATE) { yield handle } }
          end
        end
      end
    end
  end
end
