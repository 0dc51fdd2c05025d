# frozen_string_literal: true

require "guildhall/clock"
require_relative "../broker/librdkafka"
require_relative "wire"

module Guildhall
  module Kafka
    module Producing
      # A message on its way that has to arrive before something else counts as done. It is sent by the client behind waterdrop, whose
      # own rules (no empty keys, no headers without a value) are not Kafka's: a message that breaks one of them would be tried for ever.
      module Delivery
        # Seconds of waiting for a broker, between two looks whether to give up.
        SLICE_SECONDS = 0.2
        # The label of messages whose sender waits for them, and reports what becomes of them.
        AWAITED = :guildhall_awaited

        class << self
          # Does not wait for the broker.
          # @param client [Rdkafka::Producer]
          # @return [Rdkafka::Producer::DeliveryHandle]
          # @raise [Rdkafka::RdkafkaError]
          def produce(client, message, awaited: true)
            client.produce(**message, headers: Wire.headers(message[:headers]), label: (AWAITED if awaited))
          end

          # Blocks until the broker has a message.
          # @param limit [Float] of the {Clock}
          # @param give_up [#call] asked now and then
          # @raise [Rdkafka::AbstractHandle::WaitTimeoutError] where the time is over, or it was given up: it may still be on its way
          # @raise [Rdkafka::RdkafkaError] when it was refused
          def await(handle, limit, give_up)
            handle.wait(max_wait_timeout_ms: ([Clock.left(limit, least: 0.001), SLICE_SECONDS].min * 1000).ceil)
          rescue Rdkafka::AbstractHandle::WaitTimeoutError
            Clock.now < limit && !give_up.call ? retry : raise
          end

          # Blocks until the broker has it.
          # @raise [Guildhall::TimeoutError] when it did not take it in time
          # @raise [Rdkafka::RdkafkaError] when it refused it
          def wait(handle, timeout_ms) = explained { await(handle, Clock.now + (timeout_ms / 1000.0), -> { false }) }

          # Raises what the block raises, but for an outage a {TimeoutError}.
          def explained
            yield
          rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
            raise reason(error)
          end

          # Whether the error says nothing about the message.
          def passing?(error) = error.is_a?(Rdkafka::AbstractHandle::WaitTimeoutError) || Broker::Errors.outage?(error.code)

          # @return [Exception] a TimeoutError for an outage, else the error
          def reason(error) = passing?(error) ? TimeoutError.new("the broker did not take a message in time: #{error.message}") : error
        end
      end
    end
  end
end
