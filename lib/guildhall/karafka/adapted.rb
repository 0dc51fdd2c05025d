# frozen_string_literal: true

module Guildhall
  module Karafka
    # A deserializer as Karafka has them, which takes a message, as a task of the pool, which takes a payload and its metadata.
    class Adapted
      # @param deserializer [#call] takes a message
      # @raise [NotShareableError]
      # @raise [Guildhall::ArgumentError] for what cannot be called
      def initialize(deserializer)
        unless deserializer.respond_to?(:call)
          raise Guildhall::ArgumentError, "a deserializer needs `call`; #{Shareable.article(deserializer.class)} has none"
        end

        @deserializer = Shareable.callable!(deserializer, "deserializer")
        freeze
      end

      # @param _payload [String] the envelope has it, too
      # @param message [Envelope, ::Karafka::Messages::Message]
      # @return [Object]
      def call(_payload, message)
        @deserializer.call(message)
      end
    end
  end
end
