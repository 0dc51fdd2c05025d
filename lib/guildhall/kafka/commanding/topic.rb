# frozen_string_literal: true

require_relative "../broker/session"
require_relative "../broker/topic_creation"
require_relative "../routing/declared_topic"

module Guildhall
  module Kafka
    module Commanding
      # The topic of commands: made where it is missing, if that is allowed.
      # @api private
      class Topic
        # The brokers' time, so that no sender's clock says how old a command is; one partition, so that there is one order.
        CONFIG = Routing::TopicConfig.new(partitions: 1, settings: {
          "cleanup.policy" => "delete", "retention.ms" => 604_800_000, "message.timestamp.type" => "LogAppendTime"
        }.freeze)

        attr_reader :name

        def initialize(name) = @name = name

        # Blocks for the brokers' answers.
        # @param session [Broker::Session]
        # @param settings [Hash{Symbol=>Object}] librdkafka's, of the client that may create it
        # @return [Broker::Session::Topic]
        # @raise [KafkaError] saying which right is missing
        def found(session, settings)
          topic = session.describe([@name]).first
          return topic.error ? raise(explained(topic.error)) : topic unless topic.missing?

          create(settings)
          session.topic(@name)
        end

        private

        def create(settings)
          declared = Routing::DeclaredTopic.new(name: @name, config: CONFIG, made: true)
          creation = Broker::TopicCreation.new(settings, [declared]) { |error, _| raise wanting(error) }
          raise UnreachableError.at(settings, Broker::Librdkafka::TIMED_OUT, "it was asked for topics") unless creation.run
        end

        def wanting(error)
          text = error.message.delete_prefix("#{error.code_name}: ")
          error.class.new(error.code, error.code_name, "#{text}. Or create it: #{CONFIG.command(@name)}")
        end

        # To who may not describe it, brokers do not tell whether it exists.
        def explained(error)
          KafkaError.of(error.code, "topic #{@name}", consume: "#{@name}, and CREATE where it does not exist yet")
        end
      end
    end
  end
end
