# frozen_string_literal: true

module Guildhall
  module Kafka
    # Makes the application's producer with the gem waterdrop, a dependency only of those who produce.
    module Producer
      # How the names of the settings begin that any client needs.
      SHARED = %w[bootstrap.servers metadata.broker.list security. sasl. ssl. socket. broker.].freeze

      # @param config [Config]
      # @return [WaterDrop::Producer]
      # @raise [MissingDependencyError] without the gem waterdrop
      def self.create(config)
        require "waterdrop"
        WaterDrop::Producer.new do |producer|
          producer.deliver = true
          producer.kafka = settings(config)
          producer.logger = config.logger if config.logger
        end
      rescue LoadError
        raise MissingDependencyError, "producing needs the gem waterdrop: add it to the Gemfile"
      end

      # A consumer's settings mean nothing to a producer, and waterdrop would complain of them.
      def self.settings(config)
        shared = config.kafka.select { |name, _| name.start_with?(*SHARED) }
        shared.merge("client.id": config.client_id, "request.required.acks": "all")
      end
      private_class_method :settings
    end
  end
end
