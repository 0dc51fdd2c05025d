# frozen_string_literal: true

module Guildhall
  module Kafka
    # Asks a group's coordinator again while there is none, or while it is still reading what it has to know: that is how
    # it stands for a moment after a broker has come back.
    # @api private
    module Coordinator
      SETTLING = %i[not_coordinator coordinator_not_available coordinator_load_in_progress].freeze
      PAUSE = 0.2 # seconds

      # @param seconds [Numeric] how long to go on asking
      # @yield asks
      # @return what the block returns
      # @raise [Rdkafka::RdkafkaError] any other, and these when the time is up
      def self.ask(seconds = 10)
        limit = Clock.now + seconds
        begin
          yield
        rescue Rdkafka::RdkafkaError => error
          raise unless SETTLING.include?(error.code) && Clock.now < limit

          sleep(PAUSE)
          retry
        end
      end
    end
  end
end
