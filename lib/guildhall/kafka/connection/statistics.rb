# frozen_string_literal: true

require "guildhall/json"
require_relative "answers"

module Guildhall
  module Kafka
    module Connection
      # What a {Listener} does with librdkafka's statistics.
      module Statistics
        # A broker that librdkafka gives up and finds again is there twice for a while, the new one at the end.
        FORMAT = Guildhall::JSON.new(allow_duplicate_key: true)
        private_constant :FORMAT

        # Called by the client in this listener's thread, within a poll.
        def statistics_emitted(json)
          guarded("statistics") do
            @answers.read(FORMAT.document(json))
            next unless @application.listening?("statistics.emitted") && statistics_due?

            @application.publish("statistics.emitted", group: @group, member: @number, statistics: FORMAT.decode(json))
          end
        end

        private

        # More statistics come than the user has asked for.
        def statistics_due?
          interval_ms = Answers.interval_ms(settings) or return false
          @samples = (@samples || 0) + 1
          (@samples % Answers.samples(interval_ms)).zero?
        end
      end
    end
  end
end
