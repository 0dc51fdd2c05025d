# frozen_string_literal: true

require_relative "../broker/native_client"
require_relative "defaults"
require_relative "later"
require_relative "measuring"
require_relative "reporting"
require_relative "serializing"
require_relative "wire"

module Guildhall
  module Kafka
    # Sends messages: the application's producer.
    module Producing
      # Makes the application's producer with the gem waterdrop, a dependency only of those who produce.
      module Producer
        # How the names of the settings begin that any client needs.
        SHARED = %w[client.id bootstrap.servers metadata.broker.list security. sasl. ssl. enable.ssl. socket. broker.].freeze
        # Whether a message is too big is for the broker to say, whose limit is the topic's; librdkafka and waterdrop would
        # refuse whatever is bigger than 1 MB, and a dead letter is a little bigger than the message was.
        MAX_MESSAGE_BYTES = 100_000_000
        # Seconds that a producer without a broker takes to close, after it has dropped what it could not deliver.
        CLOSE_GRACE_SECONDS = 0.5

        # Has to be called before the first Ractor. Zeitwerk, the autoloader of waterdrop, wraps `Kernel#require`, and so does
        # Ruby when it makes the first Ractor; if Ruby comes first, constants are not found any more.
        # @return [Boolean] whether the gem is there
        def self.load
          require "waterdrop"
          true
        rescue LoadError
          false
        end

        # Dead letters need a producer, and so do schedules.
        # @param loaded [Boolean] whether to load the gem, or only to look whether it is there
        def self.validate(topics, errors, loaded: false)
          needing = topics.select(&:needs_producer?)
          return if needing.empty? || (loaded ? load : installed?)

          needing.each do |topic|
            setting = topic.scheduled_tasks ? "schedule" : "dead_letter_queue"
            errors.add("topic #{topic.name.inspect}: #{setting}: #{missing}")
          end
        end

        # What the framework sends on (a dead letter, say) counts as done once the broker has it: settings that do not wait for that would
        # lose it.
        def self.validate_promise(topics, config, errors)
          return if topics.none?(&:needs_producer?)

          settings = settings(config)
          if %i[acks request.required.acks].any? { |name| settings[name].to_s == "0" }
            errors.add("producer acks 0 loses dead letters, messages for later and runs of a schedule: the producer does not wait for " \
                       "the broker")
          end
          return unless settings[:"transactional.id"]

          errors.add("producer must not set transactional.id beside a dead_letter_queue, delay_topics or a schedule: what these send is " \
                     "sent outside of transactions")
        end

        # @param topics [Array<Routing::Topic>] whose serializers encode objects other than Strings
        # @param logger [Logger] waterdrop makes it that of all clients
        # @raise [MissingDependencyError] without the gem waterdrop
        def self.create(config, topics, logger)
          raise MissingDependencyError, missing unless load

          made = WaterDrop::Producer.new do |producer|
            producer.deliver = true
            producer.kafka = settings(config)
            producer.max_payload_size = MAX_MESSAGE_BYTES
            producer.logger = logger
            producer.wait_on_queue_full = true
            producer.instrument_on_wait_queue_full = false
            producer.reload_on_idempotent_fatal_error = true
            steps(config, topics).each { |step| producer.middleware.append(step) }
            producer.middleware.extend(Wire::Middleware)
            # Also after a fork, or a fatal error.
            producer.monitor.subscribe("producer.connected") { Broker::NativeClient.of(made.client) }
          end
          made.extend(Reporting, Later)
        end

        # @param topics [Array<Routing::Topic>] whose serializers encode objects other than Strings
        # @return [Array<#call>] what becomes of each message before it is sent
        def self.steps(config, topics)
          [*config.producer_middleware, Serializing.new(topics)]
        end

        # Delivers what was produced, and closes. Blocks until then; what could not be delivered in time is given up:
        # waterdrop by itself would wait for minutes.
        # @param deadline [Float] of the {Clock}
        # @param abandoned [Array<Rdkafka::Producer::DeliveryHandle>] of messages that nobody waits for: they are given up at once
        # @return [Boolean] whether everything else was delivered
        def self.close(producer, deadline, abandoned = [])
          drop(producer.client, deadline - CLOSE_GRACE_SECONDS, abandoned) if abandoned.any?(&:pending?)
          closing = Thread.new { producer.close }
          closing.report_on_exception = false
          return true if closing.join(Clock.left(deadline - CLOSE_GRACE_SECONDS, least: 0.1))

          purging = Thread.new { producer.purge } # it waits as well
          purging.report_on_exception = false
          closing.join(Clock.left(deadline, least: CLOSE_GRACE_SECONDS))
          false
        end

        # @param settings [Hash{Symbol,String=>Object}] librdkafka's
        # @return [Hash{Symbol=>Object}] of them those that any client needs
        def self.shared(settings)
          Config::Secrets.hide(settings.transform_keys(&:to_sym).select { |name, _| name.start_with?(*SHARED) })
        end

        # A consumer's settings mean nothing to a producer, and waterdrop would complain of them.
        # @return [Hash{Symbol=>Object}] librdkafka's
        def self.settings(config)
          own = config.producer.transform_keys(&:to_sym)
          defaults = {"client.id": config.client_id, "request.required.acks": "all", "message.max.bytes": MAX_MESSAGE_BYTES}
          Config::Secrets.hide({**shared(config.kafka), **defaults, **Defaults.for(own), **own})
        end

        # librdkafka cannot drop single messages: this waits until there are no others. What waterdrop has buffered is not there yet.
        def self.drop(client, limit, abandoned)
          until client.queue_size <= abandoned.count(&:pending?)
            return if Clock.now >= limit

            sleep(0.01)
          end
          purging = Thread.new { client.purge } # it waits as well
          purging.report_on_exception = false
          purging.join(Clock.left(limit))
        end

        def self.installed?
          Gem.loaded_specs.key?("waterdrop") || Gem::Specification.find_all_by_name("waterdrop").any? || load
        end

        def self.missing
          return "producing needs the gem waterdrop: add it to the Gemfile" unless Gem.loaded_specs.key?("waterdrop")

          'waterdrop cannot be loaded any more, because there was a Ractor before it: require "waterdrop" when the application is loaded'
        end
        private_class_method :drop, :installed?, :missing
      end
    end
  end
end
