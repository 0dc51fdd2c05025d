# frozen_string_literal: true

require_relative "errors"

module Guildhall
  module Kafka
    module Broker
      # What the client of a {Session} says beside its answers: why brokers do not serve it. A request that such an error keeps from being
      # answered only times out.
      class Complaints
        TLS = -181
        private_constant :TLS

        # @return [Array(Integer, String), nil] librdkafka's code and reason, where brokers refuse the credentials or TLS fails
        attr_reader :credentials
        # @return [Array(Integer, String), nil] the same, where a right is missing
        attr_reader :right

        def initialize
          @credentials = @right = nil
        end

        # Called by the client, and by a reader.
        def client_failed(code, reason)
          code = TLS if reason.to_s.include?("SSL handshake failed") # librdkafka may give it the code of a lost connection
          found = [code, reason.to_s.sub(/ \(after .*\)\z/m, "")]
          @credentials = found if Errors.kind(code) == :credentials
          @right = found if Errors.kind(code) == :right
        end

        # Takes what waits in the consumer's queue. Nothing may be assigned.
        def take(handle)
          until (pointer = Rdkafka::Bindings.rd_kafka_consumer_poll(handle, 0)).null?
            message = Rdkafka::Bindings::Message.new(pointer)
            client_failed(message[:err], Rdkafka::Bindings.rd_kafka_err2str(message[:err]))
            Rdkafka::Bindings.rd_kafka_message_destroy(pointer)
          end
        end

        # Called by the client when it is closed.
        # @!visibility private
        def partitions_assigned(_pairs) = nil

        # @!visibility private
        def partitions_revoked(_pairs, lost:) = nil

        # @!visibility private
        def statistics_emitted(_json) = nil
      end
    end
  end
end
