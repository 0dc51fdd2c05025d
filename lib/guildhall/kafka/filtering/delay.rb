# frozen_string_literal: true

module Guildhall
  module Kafka
    module Filtering
      # A message waits until it is that old.
      class Delay
        def initialize(seconds:)
          @seconds = seconds
        end

        def call(messages)
          now = Time.now
          young = messages.find { |message| (time = message.timestamp) && time + @seconds > now }
          messages.postpone(young, young.timestamp + @seconds - now) if young
        end
      end
    end
  end
end
