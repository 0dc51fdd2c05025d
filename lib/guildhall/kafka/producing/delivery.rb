# frozen_string_literal: true

require "guildhall/clock"
require_relative "errors"

module Guildhall
  module Kafka
    module Producing
      # A message that librdkafka has taken, and what becomes of it. Any thread of the process that has produced it.
      class Delivery
        # Where the broker has put a message. `offset` is -1 where it did not say (acks 0).
        Report = Data.define(:topic, :partition, :offset) do
          # WaterDrop's name.
          alias_method :topic_name, :topic
        end
        # Seconds of waiting for a broker, between two looks whether to give up.
        # @api private
        SLICE_SECONDS = 0.2
        # Seconds that a delivery is waited for, unless the caller says otherwise: longer than librdkafka tries (message.timeout.ms), so
        # that the answer is a final one.
        # @api private
        WAIT_SECONDS = 180

        # @return [String]
        attr_reader :topic

        # Whether the error says nothing about the message.
        def self.passing?(error) = error.is_a?(TimeoutError) || Broker::Errors.outage?(error.code)

        # @param deliveries [Sender::Deliveries] of the call that it was handed over in
        # @param index [Integer] which of them
        def initialize(deliveries, index, topic)
          @deliveries = deliveries
          @index = index
          @topic = topic
        end

        # @return [Boolean] whether it is on its way
        def pending? = @deliveries.pending?(@index)

        # Blocks until a broker has the message.
        # @param max_wait_timeout_ms [Numeric] milliseconds
        # @return [Report]
        # @raise [Guildhall::TimeoutError] when that takes longer: it may still arrive
        # @raise [ProduceError] when it was not delivered
        def wait(max_wait_timeout_ms: WAIT_SECONDS * 1000) = await(Clock.now + (max_wait_timeout_ms / 1000.0))

        # As {#wait}.
        # @param limit [Float] of the {Clock}
        # @param give_up [#call] asked now and then
        def await(limit, give_up = -> { false })
          until (settled = @deliveries.wait(@index, Clock.left(limit).clamp(0, SLICE_SECONDS)))
            raise elsewhere if settled.nil?
            raise late if Clock.now >= limit || give_up.call
          end
          failure = error
          raise failure if failure

          _, partition, offset = @deliveries.outcome(@index)
          Report.new(topic: @topic, partition:, offset:)
        end

        # @return [ProduceError, nil] nil: it has arrived, or is on its way
        def error
          code, = @deliveries.outcome(@index)
          ProduceError.of(code, @topic) unless code.nil? || code.zero?
        end

        private

        def elsewhere
          TimeoutError.new("what becomes of a message to topic #{@topic} is told to the process that has produced it, from which this " \
                           "one was forked: wait there, or produce here")
        end

        def late = TimeoutError.new("no broker has confirmed a message to topic #{@topic} in time; it may still arrive")
      end
    end
  end
end
