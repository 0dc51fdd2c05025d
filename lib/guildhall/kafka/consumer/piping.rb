# frozen_string_literal: true

require_relative "../producing/delivery"

module Guildhall
  module Kafka
    class Consumer
      # Sends messages on to another topic as they are.
      module Piping
        # Sends messages to another topic with their bytes, key and headers, in their order. Messages with a key go where the partitioner
        # sends that key; those without one stay together by the partition that they come from. Blocks until the broker has all of
        # them; does not mark them. A retry sends again what has arrived already.
        # @param topic [String]
        # @param messages [Enumerable<Message>]
        # @param headers [Hash{String=>String}] more of them
        # @return [void]
        # @raise [MissingDependencyError] without the gem waterdrop
        # @raise [Guildhall::TimeoutError] when the broker does not take one in time
        # @raise [Rdkafka::RdkafkaError] when it refuses one
        def pipe_to(topic, messages = self.messages, headers: {})
          producer = self.producer
          partition = nil
          sent = messages.map do |message|
            partition ||= message.partition % producer.partition_count(topic) unless message.raw_key
            Producing::Delivery.start(producer, {topic:, partition: (partition unless message.raw_key), payload: message.raw_payload,
                                                 key: message.raw_key, headers: {**message.raw_headers, **headers}}.compact)
          end
          sent.each(&:wait)
          nil
        end
      end
    end
  end
end
