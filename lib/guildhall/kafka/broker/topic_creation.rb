# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/growing_pauses"
require_relative "../routing/declared_topic"
require_relative "admin_client"

module Guildhall
  module Kafka
    module Broker
      # Creates the topics that the framework itself needs, retry topics, delay topics, schedules, the dead letters of jobs and reports,
      # where they are missing. A listener calls it before it subscribes: librdkafka finds a topic that comes later only after minutes.
      # A topic that could not be created, perhaps because the right is missing, is tried again.
      # @api private
      class TopicCreation
        TIMEOUT_MS = 10_000
        ANSWER_MS = 3_000 # that brokers have to say which topics there are
        PAUSE_SECONDS = 0.1
        PAUSES = GrowingPauses.new(1, 300) # seconds before another try
        UNANSWERED = "no broker answers: missing topics are created as soon as one does"
        private_constant :TIMEOUT_MS, :ANSWER_MS, :PAUSE_SECONDS, :UNANSWERED

        # @param declared [Array<Routing::DeclaredTopic>]
        # @yieldparam error [StandardError] why one could not be created, and its name
        def initialize(settings, declared, pauses: PAUSES, &on_error)
          @settings = settings
          @declared = declared
          @pauses = pauses
          @on_error = on_error
          @refused = []
        end

        # Some topics are missing, and could not be created.
        def refused? = @refused.any?

        # Creates missing topics, as soon as a broker answers, and reports once that none does. Blocks for the first answer.
        # @yieldreturn [Boolean] whether to give up
        def start
          reported = false
          until run || yield
            @on_error.call(TokenError.of(@settings) || TimeoutError.new(UNANSWERED), @declared.first.name) unless reported
            reported = true
            sleep(PAUSE_SECONDS)
          end
        end

        # Blocks until all are there, and tries again with growing pauses.
        def try_again(client)
          pause = nil
          until (before = @refused).empty?
            sleep(pause = @pauses.after(pause))
            ErrorBoundary.run(->(error) { @on_error.call(error, before.first) }) do
              run
              # Asked for all topics, librdkafka notices those that it has subscribed to and that were missing.
              client.topic_names(ANSWER_MS) if (before - @refused).any?
            end
          end
        end

        # Blocks for the brokers' answers.
        # @return [Boolean] false: no broker has answered, and it is not known whether topics are missing
        def run
          return true if @declared.empty?

          AdminClient.open(@settings) do |admin|
            code, topics = admin.metadata(ANSWER_MS)
            @refused = create(admin, missing(topics.to_h { |name, _, leaders| [name, leaders.size] })) if code.zero?
            code.zero?
          end
        end

        private

        # @return [Hash{String=>Array}] by name, what {Admin#create_topic} takes beside it
        def missing(present)
          @declared.reject { |topic| present.key?(topic.name) }.to_h do |topic|
            config = topic.creation(present)
            partitions, replicas = [config.partitions, config.replicas].map { |number| number || AdminClient::BROKERS_DEFAULT }
            [topic.name, [partitions, config.settings_as_text, replicas]]
          end
        end

        # Sends all requests before it waits for the first answer: brokers that leave them unanswered cost one time-out together.
        # @return [Array<String>] those that are not there
        def create(admin, wanted)
          limit = Clock.now + (TIMEOUT_MS / 1000.0)
          requests = wanted.map { |name, arguments| [name, request(admin, name, *arguments)] }
          requests.reject { |name, request| created?(name, request, limit) }.map(&:first)
        end

        def request(admin, name, *arguments)
          admin.create_topic(name, *arguments)
        rescue Rdkafka::RdkafkaError => error
          error
        end

        def created?(name, request, limit)
          raise request if request.is_a?(Exception)

          request.wait(max_wait_timeout_ms: (Clock.left(limit, least: 0.001) * 1000).ceil)
          true
        rescue Rdkafka::RdkafkaError => error
          # Another process may have been faster.
          error.code == :topic_already_exists || refused(name, error.rdkafka_response, error.broker_message || error.message)
        rescue Rdkafka::AbstractHandle::WaitTimeoutError => error
          refused(name, Librdkafka::TIMED_OUT, error.message)
        end

        def refused(name, code, text)
          @on_error.call(KafkaError.of(code, "topic #{name} was not created: #{text.split.join(" ").chomp(".")}", create: name), name)
          false
        end
      end
    end
  end
end
