# frozen_string_literal: true

module Guildhall
  module Kafka
    module Producing
      # Makes bytes of payloads that are none, as the topic's route says: a step of waterdrop's middleware, so that every
      # way to produce takes it. Bytes (any String) and tombstones (nil) pass untouched.
      class Serializing
        def initialize(topics) = @topics = topics

        # @raise [EncodeError] where no route says how
        def call(message)
          payload = message[:payload]
          return message if payload.nil? || payload.is_a?(String)

          encoder = encoder(message[:topic].to_s, payload)
          payload = encoder.respond_to?(:encode) ? encoder.encode(payload) : encoder.call(payload)
          message.merge({payload:}, with_schema(encoder, message[:headers]))
        end

        private

        def encoder(topic, payload)
          @topics.call.filter_map { |route| route.encoder if route.match?(topic) }.first or
            raise EncodeError, "topic #{topic}: no serializer for a #{payload.class}: give the topic's route a serializer"
        end

        # A codec of a schema registry may name the schema in a header.
        def with_schema(encoder, headers)
          own = encoder.respond_to?(:registry) && encoder.respond_to?(:headers) ? encoder.headers : {}
          own.empty? ? {} : {headers: {**headers.to_h, **own}}
        end
      end
    end
  end
end
