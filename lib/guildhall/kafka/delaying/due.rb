# frozen_string_literal: true

require_relative "envelope"

module Guildhall
  module Kafka
    module Delaying
      # The filter of a delay topic: a message waits for the topic's time, or less where it is due before.
      class Due
        # @param seconds [Numeric] of the topic
        def initialize(seconds:)
          @seconds = seconds
        end

        def call(messages)
          now = Time.now.to_f
          messages.each do |message|
            seconds = seconds_left(message, now)
            return messages.postpone(message, seconds) if seconds.positive?
          end
        end

        private

        def seconds_left(message, now)
          entered = message.timestamp&.to_f || now
          [entered + @seconds, Envelope.due(message) || 0].min - now
        end
      end
    end
  end
end
