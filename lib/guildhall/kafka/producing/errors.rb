# frozen_string_literal: true

require_relative "../broker/librdkafka"
require_relative "../broker/errors"
require_relative "../errors"

module Guildhall
  module Kafka
    # A message was not delivered, or could not be sent at all. `code` is the gem's Symbol (`:msg_size_too_large`).
    class ProduceError < Rdkafka::RdkafkaError
      include Error

      # @return [String] where it was to go
      attr_reader :topic
      # @return [Array<Producing::Delivery>] of a call with many messages: those that librdkafka had taken before this one
      attr_accessor :dispatched

      # @param code [Integer] librdkafka's
      # @return [ProduceError] saying what to do
      def self.of(code, topic) = (Broker::Errors.symbol(code) == :queue_full ? QueueFullError : self).new(code, topic)

      # @return [String] of an error that names its topic elsewhere: without it
      def self.reason_of(error) = error.is_a?(self) ? error.reason : error.message

      def initialize(code, topic)
        super(code)
        @topic = topic
        @dispatched = []
      end

      def message = "topic #{topic}: #{reason}"

      # @return [String] what the broker or librdkafka says, and what to do
      def reason = [RDKAFKA_MESSAGE.bind_call(self), *advice].join("; ")

      RDKAFKA_MESSAGE = Rdkafka::RdkafkaError.instance_method(:message)
      private_constant :RDKAFKA_MESSAGE

      private

      def advice = Broker::Errors.advice(code, produce: topic)
    end

    # The producer's queue stays full.
    class QueueFullError < ProduceError
      private

      def advice
        "messages are produced faster than the brokers take them. Produce slower (wait for what produce_async returns), or raise " \
          "queue.buffering.max.messages or queue.buffering.max.kbytes in config.producer"
      end
    end
  end
end
