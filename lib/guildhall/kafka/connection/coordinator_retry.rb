# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # Asks a group's coordinator again while there is none, or while it is still reading what it has to know: that is how
      # it means a moment after a broker has come back.
      # @api private
      module CoordinatorRetry
        PAUSE_SECONDS = 0.2

        # @param seconds [Numeric] how long to go on asking
        # @yield asks
        # @return what the block returns
        # @raise [Rdkafka::RdkafkaError] any other, and these when the time is up
        def self.run(seconds = 10)
          limit = Clock.now + seconds
          begin
            yield
          rescue Rdkafka::RdkafkaError => error
            raise unless Broker::Errors.coordinator_changes?(error.code) && Clock.now < limit

            sleep(PAUSE_SECONDS)
            retry
          end
        end
      end
    end
  end
end
