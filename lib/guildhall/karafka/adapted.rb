# frozen_string_literal: true

module Guildhall
  module Karafka
    # A deserializer as Karafka has them, which takes a message, as a task of the pool, which takes a payload and its metadata.
    # @api private
    class Adapted
      # @param deserializer [#call] takes a message
      # @raise [NotShareableError]
      def initialize(deserializer)
        @deserializer = Shareable.callable!(deserializer, "deserializer")
        freeze
      end

      # @param _payload [String] the envelope has it, too
      def call(_payload, message)
        @deserializer.call(message)
      end

      # @return [String] the deserializer's own, for errors and reports
      def inspect
        Inspection.name_of(@deserializer)
      end
    end
  end
end
