# frozen_string_literal: true

require_relative "../producer"

module Guildhall
  module Kafka
    class Application
      # The producer of an application, whether it consumes or not.
      module Producing
        # The application's producer, made when it is first asked for (after a fork, anew); closed by {#stop}, or at the end
        # of the process. Payloads that are no String are encoded as the topic's route says.
        # @return [WaterDrop::Producer]
        # @raise [MissingDependencyError] without the gem waterdrop
        # @raise [ConfigurationError] listing every fault of the settings
        def producer
          @lock.synchronize do
            @producer = nil if @producer_pid != Process.pid
            @producer ||= create_producer
          end
        end

        private

        def create_producer
          faults = Faults.new
          @config.validate(faults)
          faults.raise!
          stop_at_exit
          @producer_pid = Process.pid
          Producer.create(@config, @routes.topics)
        end

        # @return [Boolean] whether what was produced has been delivered
        def close_producer(deadline)
          producer = @lock.synchronize { @producer.tap { @producer = nil } if @producer_pid == Process.pid }
          return true if producer.nil? || Producer.close(producer, deadline)

          error(Guildhall::TimeoutError.new("what was produced could not be delivered before the end, and is given up"), "producer")
          false
        rescue StandardError => error
          error(error, "producer")
          false
        end
      end
    end
  end
end
