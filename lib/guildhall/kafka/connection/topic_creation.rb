# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    module Connection
      # Creates the topics that the framework itself needs, retry topics, delay topics, schedules and the dead letters of jobs, where they
      # are missing. Called by a
      # listener before it subscribes: a topic that comes later is found after minutes only.
      class TopicCreation
        TIMEOUT_MS = 10_000
        ANSWER_MS = 3_000 # that brokers have to say which topics there are
        PAUSE_SECONDS = 0.1
        UNANSWERED = "no broker answers: missing topics are created as soon as one does"
        BROKERS_DEFAULT = -1 # how many replicas
        # Only segments that are closed are compacted, and a process that takes over reads all that is there.
        COMPACTED = {"cleanup.policy": "compact", "segment.ms": "3600000", "min.cleanable.dirty.ratio": "0.1"}.freeze

        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param topics [Array<Routing::Topic>] a listener's
        # @yieldparam error [StandardError] why one could not be created
        # @yieldparam name [String]
        def initialize(settings, topics, &on_error)
          @settings = settings
          @topics = topics.select { |topic| own?(topic) }
          @failing = topics.select { |topic| topic.dead_letter_queue&.own }
          @on_error = on_error
        end

        # As {#run}, until a broker has answered; reports once that none does.
        # @yieldreturn [Boolean] whether to give up
        # @return [void]
        def insist
          reported = false
          until run || yield
            @on_error.call(TimeoutError.new(UNANSWERED), [*@topics, *@failing].first.name) unless reported
            reported = true
            sleep(PAUSE_SECONDS)
          end
        end

        # Blocks for the brokers' answers.
        # @return [Boolean] false: no broker has answered, and it is not known whether topics are missing
        def run
          return true if @topics.empty? && @failing.empty?

          admin = Rdkafka::Config.new(Producing::Producer.shared(@settings)).admin
          present = present(admin) or return false
          missing(present).each { |name, partitions| create(admin, name, *partitions) }
          true
        ensure
          admin&.close
        end

        private

        def own?(topic) = topic.delay_tiers || topic.scheduled_tasks || (topic.retry_topics && !topic.retry_topics.first?)

        def present(admin)
          admin.instance_variable_get(:@native_kafka).with_inner { |handle| Librdkafka.partition_counts(handle, ANSWER_MS) }
        end

        # A retry topic, and a topic for dead letters, gets as many partitions as the topic, a schedule one, a delay topic and its dead
        # letters as many as the brokers say.
        def missing(present)
          wanted = @topics.to_h { |topic| [topic.name, present[topic.retry_topics&.source] || BROKERS_DEFAULT] }
          @topics.filter_map(&:delay_tiers).each { |tiers| wanted[tiers.dead_letters] = BROKERS_DEFAULT }
          @failing.each { |topic| wanted[topic.dead_letter_queue.topic] = present[topic.name] || BROKERS_DEFAULT }
          @topics.select(&:scheduled_tasks).each { |topic| wanted[topic.name] = [1, COMPACTED] }
          wanted.reject { |name, _| present.key?(name) }
        end

        def create(admin, name, partitions, settings = {})
          embedded = @settings[:"bootstrap.servers"]
          return embedded.create_topic(name, partitions: [partitions, 1].max) if embedded.respond_to?(:create_topic) # of a test

          admin.create_topic(name, partitions, BROKERS_DEFAULT, settings).wait(max_wait_timeout_ms: TIMEOUT_MS)
        rescue EmbeddedBrokerError
          nil # another listener was faster
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          # Another process may have been faster.
          @on_error.call(error, name) unless error.is_a?(Rdkafka::RdkafkaError) && error.code == :topic_already_exists
        end
      end
    end
  end
end
