# frozen_string_literal: true

module Guildhall
  module Kafka
    module Filtering
      # Messages that are older than that are not consumed.
      class Expire
        def initialize(seconds:)
          @seconds = seconds
        end

        def call(messages)
          oldest = Time.now - @seconds
          messages.reject! { |message| (time = message.timestamp) && time < oldest }
        end
      end
    end
  end
end
