# frozen_string_literal: true

require_relative "producer/serializing"

module Guildhall
  module Kafka
    # Makes the application's producer with the gem waterdrop, a dependency only of those who produce.
    module Producer
      # How the names of the settings begin that any client needs.
      SHARED = %w[bootstrap.servers metadata.broker.list security. sasl. ssl. socket. broker.].freeze
      # Whether a message is too big is for the broker to say, whose limit is the topic's; librdkafka and waterdrop would
      # refuse whatever is bigger than 1 MB, and a dead letter is a little bigger than the message was.
      MOST_BYTES = 100_000_000
      # Seconds that a producer with nobody to talk to takes to end, once it has given up what it could not deliver.
      LAST_MOMENT = 0.5

      # Before the first Ractor: the autoloader that waterdrop brings along, Zeitwerk, wraps `Kernel#require`, and so does
      # Ruby with the first Ractor; in the other order constants are not found any more.
      # @return [Boolean] whether the gem is there
      def self.load
        require "waterdrop"
        true
      rescue LoadError
        false
      end

      # @param config [Config]
      # @param topics [Array<Routing::Topic>] whose serializers encode what is no String
      # @return [WaterDrop::Producer]
      # @raise [MissingDependencyError] without the gem waterdrop
      def self.create(config, topics)
        raise MissingDependencyError, missing unless load

        WaterDrop::Producer.new do |producer|
          producer.deliver = true
          producer.kafka = settings(config)
          producer.max_payload_size = MOST_BYTES
          producer.logger = config.logger || Rdkafka::Config.logger # waterdrop makes it that of all clients
          producer.middleware.append(Serializing.new(topics))
        end
      end

      # Delivers what was produced, and closes. Blocks until then; what could not be delivered in time is given up:
      # waterdrop by itself would wait for minutes.
      # @param producer [WaterDrop::Producer]
      # @param deadline [Float] of the {Clock}
      # @return [Boolean] whether everything was delivered
      def self.close(producer, deadline)
        closing = Thread.new { producer.close }
        closing.report_on_exception = false
        return true if closing.join(Clock.left(deadline - LAST_MOMENT, least: 0.1))

        purging = Thread.new { producer.purge } # it waits as well
        purging.report_on_exception = false
        closing.join(Clock.left(deadline, least: LAST_MOMENT))
        false
      end

      # @param config [Config]
      # @return [Hash{Symbol=>Object}] of the settings those that any client needs
      def self.shared(config)
        config.kafka.transform_keys(&:to_sym).select { |name, _| name.start_with?(*SHARED) }.merge("client.id": config.client_id)
      end

      # A consumer's settings mean nothing to a producer, and waterdrop would complain of them.
      # @param config [Config]
      # @return [Hash{Symbol=>Object}] librdkafka's
      def self.settings(config)
        {**shared(config), "request.required.acks": "all", "message.max.bytes": MOST_BYTES, **config.producer.transform_keys(&:to_sym)}
      end

      def self.missing
        return "producing needs the gem waterdrop: add it to the Gemfile" unless Gem.loaded_specs.key?("waterdrop")

        'waterdrop cannot be loaded any more, because there was a Ractor before it: require "waterdrop" when the application is loaded'
      end
      private_class_method :missing
    end
  end
end
