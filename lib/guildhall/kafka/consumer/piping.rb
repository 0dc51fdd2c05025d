# frozen_string_literal: true

module Guildhall
  module Kafka
    class Consumer
      # Sends messages on to another topic as they are.
      module Piping
        # Sends messages to another topic with their bytes, key and headers, in their order. Messages with a key go where the partitioner
        # sends that key; those without one stay together by the partition that they come from. Does not mark them.
        #
        # Blocks until the broker has all of them, but for a few seconds only: if it has not by then, or if the topic is missing or may not
        # be written to, this raises. Then the partition waits until the broker has all, and the consumer is called again; what has arrived
        # is not sent again by that call. In a transaction nothing waits: it is aborted, and repeated after a pause.
        # @param headers [Hash{String=>String}] more of them
        # @raise [MissingDependencyError] without the gem waterdrop
        # @raise [ForwardingError] (a {Guildhall::TimeoutError}) when the broker does not take one in time
        # @raise [Rdkafka::RdkafkaError] when it refuses one, as too large for instance
        def pipe_to(topic, messages = self.messages, headers: {})
          records = messages.map do |message|
            [message, {topic: topic.to_s, payload: message.raw_payload, key: message.raw_key,
                       headers: {**message.raw_headers, **headers}}.compact]
          end
          @call.forward(records)
          nil
        end
      end
    end
  end
end
