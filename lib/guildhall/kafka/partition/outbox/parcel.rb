# frozen_string_literal: true

require "guildhall/clock"
require_relative "../../errors"
require_relative "../../producing/delivery"
require_relative "../dispatches"

module Guildhall
  module Kafka
    class Partition
      # A message on its way to another topic. Used by one thread at a time.
      class Parcel
        attr_reader :message
        # @return [Rdkafka::Producer::DeliveryHandle, nil] while it is on its way
        attr_reader :handle
        # @return [Exception, nil] why it has to be sent again
        attr_reader :failure
        # @return [Exception, nil] why it is not sent
        attr_reader :refused
        # @return [Outbox::Load, nil] that it was part of when a call had to leave it
        attr_accessor :load
        # @return [Integer] counts the sends of one message to one topic within a call of `consume`; the n-th of a repeated call stands for
        #   the n-th of the first
        attr_accessor :ordinal

        # @param record [Hash{Symbol=>Object}, Exception] what is sent: topic, payload, key, headers, partition; without a partition and a
        #   key those of one partition stay together. An error: why it cannot be sent
        # @param patient [Boolean] whether it waits for a topic that is missing or may not be written to; false: it is refused then
        # @param once [Boolean] whether the message is sent to one topic only, whichever that is
        def initialize(message, record, patient: true, once: false)
          @message = message
          @patient = patient
          @once = once
          @arrived = false
          record.is_a?(Exception) ? @refused = record : @record = record
        end

        def topic = @record[:topic]

        # @return [Array] which message, and where it goes
        def route = @once ? origin : [*origin, topic]

        # @return [Array] the same in another call of `consume`, whatever the headers are
        def key = [*route, ordinal]

        # @return [Array] the same for those whose order matters
        def stream = [topic, @record[:key] || @record[:partition] || @message.partition]

        def arrived? = @arrived

        # @return [Boolean] whether nothing more is to be done for it
        def settled? = @arrived || !@refused.nil?

        # It has arrived, but is to be sent once more.
        def reset
          @arrived = false
        end

        # Does not wait for the broker's confirmation.
        # @param counts [Outbox::PartitionCounts] may block
        def start(producer, counts)
          return if on_its_way? || settled?

          @failure = nil
          @handle = Producing::Delivery.produce(producer.client, {**@record, **partition(counts)})
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          failed(error)
        end

        # Blocks for the broker's confirmation.
        # @param limit [Float] of the {Clock}
        # @param give_up [#call] asked now and then
        # @return [Boolean] false: it is still on its way
        def wait(limit, give_up)
          return true unless on_its_way?

          Producing::Delivery.await(@handle, limit, give_up)
          @handle = nil
          @arrived = true
        rescue Rdkafka::AbstractHandle::WaitTimeoutError
          false
        rescue Rdkafka::RdkafkaError => error
          failed(error)
        end

        def undelivered
          reason = @failure ? [@failure.message, *advice].join("; ") : Dispatches::LATE
          topic, partition, offset = origin
          ForwardingError.new("#{topic}/#{partition}@#{offset} could not be sent to topic #{self.topic}, and its partition waits until " \
                              "that works: #{reason}", to: self.topic, reason:)
        end

        private

        def on_its_way? = !@handle.nil?

        def origin = [@message.topic, @message.partition, @message.offset]

        def advice = (Broker::Errors.advice(@failure.code, to: topic) if @failure.is_a?(Rdkafka::RdkafkaError))

        def partition(counts)
          return {} if @record[:key] || @record[:partition]

          {partition: @message.partition % counts.of(topic)}
        end

        def failed(error)
          @handle = nil
          waits = Producing::Delivery.passing?(error) || (@patient && Broker::Errors.unusable?(error.code))
          waits ? @failure = error : @refused = error
          true
        end
      end
    end
  end
end
