# frozen_string_literal: true

module Guildhall
  module Kafka
    module Producing
      # Makes bytes of payloads that are none, as the topic's route says: a step of the middleware, so that every way to produce takes it.
      # Bytes (any String) and tombstones (nil) pass untouched.
      # @api private
      class Serializing
        # @param topics [#call] returns the routes: the same Array as long as they are the same
        def initialize(topics)
          @topics = topics
          @known = [nil, {}].freeze # routes, and their encoders by topic: without it each message would look through all routes
        end

        # @raise [EncodeError] where no route says how
        def call(message)
          payload = message[:payload]
          topic = message[:topic]
          return message if payload.nil? || payload.is_a?(String) || topic.nil?

          encoder = encoder(topic.to_s, payload)
          made = message.merge(payload: encoder.respond_to?(:encode) ? encoder.encode(payload) : encoder.call(payload))
          encoder.respond_to?(:registry) && encoder.respond_to?(:headers) ? with_schema(made, encoder.headers) : made
        end

        private

        def encoder(topic, payload)
          topics = @topics.call
          @known = [topics, {}].freeze unless @known.first.equal?(topics)
          @known.last[topic] ||= topics.filter_map { |route| route.encoder if route.match?(topic) }.first or
            raise EncodeError, "topic #{topic}: no serializer for a #{payload.class}: give the topic's route a serializer"
        end

        # A codec of a schema registry may name the schema in a header.
        def with_schema(message, own) = own.empty? ? message : message.merge(headers: {**message[:headers].to_h, **own})
      end
    end
  end
end
