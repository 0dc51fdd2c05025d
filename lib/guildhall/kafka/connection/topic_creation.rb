# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # Creates the topics that the framework itself needs, retry topics and delay topics, where they are missing. Called by a
      # listener before it subscribes: a topic that comes later is found after minutes only.
      class TopicCreation
        TIMEOUT_MS = 10_000
        BROKERS_DEFAULT = -1 # how many replicas

        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param topics [Array<Routing::Topic>] a listener's
        # @yieldparam error [StandardError] why one could not be created
        # @yieldparam name [String]
        def initialize(settings, topics, &on_error)
          @settings = settings
          @topics = topics.select { |topic| topic.delay_tiers || (topic.retry_topics && !topic.retry_topics.first?) }
          @on_error = on_error
        end

        # Blocks for the brokers' answers.
        # @return [void]
        def run
          return if @topics.empty?

          admin = Rdkafka::Config.new(Producing::Producer.shared(@settings)).admin
          present = admin.metadata.topics.to_h { |topic| [topic.fetch(:topic_name), topic.fetch(:partition_count)] }
          missing(present).each { |name, partitions| create(admin, name, partitions) }
        rescue Rdkafka::RdkafkaError => error
          @on_error.call(error, @topics.first.name)
        ensure
          admin&.close
        end

        private

        # A retry topic gets as many partitions as the topic, a delay topic and its dead letters as many as the brokers say.
        def missing(present)
          wanted = @topics.to_h { |topic| [topic.name, present[topic.retry_topics&.source] || BROKERS_DEFAULT] }
          @topics.filter_map(&:delay_tiers).each { |tiers| wanted[tiers.dead_letters] = BROKERS_DEFAULT }
          wanted.reject { |name, _| present.key?(name) }
        end

        def create(admin, name, partitions)
          admin.create_topic(name, partitions, BROKERS_DEFAULT).wait(max_wait_timeout_ms: TIMEOUT_MS)
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          # Another process may have been faster.
          @on_error.call(error, name) unless error.is_a?(Rdkafka::RdkafkaError) && error.code == :topic_already_exists
        end
      end
    end
  end
end
