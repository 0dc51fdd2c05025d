# frozen_string_literal: true

require_relative "../config"
require_relative "../partition/backoff"
require_relative "../runtime/backpressure"
require_relative "../producing/settings"

module Guildhall
  module Kafka
    class Application
      # Checks settings and routes, and reports all errors together.
      # @api private
      class Validation
        MAX_POLL_INTERVAL_MS = 300_000 # librdkafka's default
        private_constant :MAX_POLL_INTERVAL_MS

        def initialize(config, routes, clients)
          @config = config
          @routes = routes
          @clients = clients
          @problems = Config::Problems.new
        end

        def topics
          @config.validate(@problems)
          topics = @routes.topics(@problems)
          topics.each { |topic| validate_pauses(topic) }
          @problems.raise!
          validate_together(topics)
          @problems.raise!
          topics
        end

        private

        # What each setting allows, but not all of them together.
        def validate_together(topics)
          @clients.together(topics).each do |some|
            settings = @clients.settings(some.first)
            wrong = @clients.protocol_problems(some.first)
            next @problems.add(*wrong) if wrong.any? # librdkafka's own words for it would come as well

            validate_multiplexing(some.first, settings)
            validate_polling(settings)
            [settings, @clients.settings(some.first, refused: true)].uniq.each do |either|
              Config::LibrdkafkaSettings.validate_together(either, :rd_kafka_consumer, @problems, "kafka")
            end
          end
          [Producing::Settings.of(@config), (Producing::Settings.patient(@config) if @config.outbox)].compact.each do |settings|
            Config::LibrdkafkaSettings.validate_together(settings, :rd_kafka_producer, @problems, "producer")
          end
          validate_oauth_token(topics)
          Producing::Settings.validate_promise(topics, @config, @problems)
          validate_transactions(topics.select(&:transactional))
          own_id = Producing::Settings.transactional_id(@config)
          validate_transactional(own_id, "producer") if own_id
          Runtime::Backpressure.validate(@config, topics, @problems)
        end

        def validate_oauth_token(topics)
          clients = [@config.librdkafka, Producing::Settings.of(@config), *topics.map { |topic| @clients.settings(topic) }]
          return if @config.oauth_token.nil? || clients.any? { |settings| Tokens.needed?(settings) }

          @problems.add('oauth_token is set, and no client asks for tokens: set kafka "sasl.mechanism": "OAUTHBEARER", and ' \
                        '"security.protocol": "sasl_ssl"')
        end

        # Nothing would say why the group loses its member.
        def validate_polling(settings)
          # librdkafka reports itself what is not a number.
          poll = Integer(settings.fetch(:"max.poll.interval.ms", MAX_POLL_INTERVAL_MS), exception: false) or return
          wait = @config.revocation_timeout
          return if wait * 1000 < poll

          @problems.add("revocation_timeout (#{wait} s) has to be shorter than max.poll.interval.ms (#{poll} ms): nothing is " \
                        "polled while a rebalance waits for work, and a member that does not poll is removed from the group")
        end

        # A static member that leaves keeps its partitions until its session is over.
        def validate_multiplexing(topic, settings)
          return unless topic.multiplexing.elastic? && settings[:"group.instance.id"]

          @problems.add("group #{topic.group}: multiplexing #{topic.multiplexing.size} cannot have group.instance.id: partitions of a " \
                        "static member that leaves would have no consumer until its session is over; " \
                        "write multiplexing #{topic.multiplexing.maximum}")
        end

        # The group's offset must not be read while a transaction is about to commit another.
        def validate_transactions(topics)
          return if topics.empty?

          validate_transactional("id", "producer, for transactional topics")
          topics.each do |topic|
            next unless @clients.settings(topic)[:"isolation.level"].to_s == "read_uncommitted"

            @problems.add("topic #{topic.name.inspect}: transactional needs isolation.level read_committed, which is the default")
          end
        end

        def validate_transactional(id, owner)
          settings = Producing::Settings.of(@config, "transactional.id": id)
          Config::LibrdkafkaSettings.validate_together(settings, :rd_kafka_producer, @problems, owner)
        end

        def validate_pauses(topic)
          return if topic.retry_topic? # which has the settings of its source
          return unless topic.retries.pause_timeout || topic.retries.pause_max_timeout

          problem = Partition::Backoff.new(@config, topic.retries).problem
          @problems.add("topic #{topic.name.inspect}: retries #{problem}; what the topic does not set is the application's") if problem
        end
      end
    end
  end
end
