# frozen_string_literal: true

require_relative "../lag/group_keys"
require_relative "../lag/group_lag"
require_relative "../dead_letter_queue/replay"

module Guildhall
  module Kafka
    class Application
      # What an application can ask the brokers, whether it runs or not.
      module Inspecting
        # How far the groups are behind, as the broker knows it, without topics that are read without a group; whether this
        # application runs does not matter. Blocks for the broker's answers.
        # @param groups [Array<String>, nil] only these consumer groups; nil: all
        # @param topics [Array<String>, nil] only these topics; nil: all
        # @return [Array<Lag::GroupLag::Row>]
        # @raise [ConfigurationError] listing every error
        # @raise [Rdkafka::RdkafkaError]
        def lag(groups: nil, topics: nil)
          ask(groups, topics) { |settings, some| Lag::GroupLag.new(settings, some).rows }
        end

        # Which keys the groups have parked, of routes with `ordering :key`, as far as their members have committed it: the messages
        # that were passed over, of parked keys and, for a moment, those that are in work. Blocks for the broker's answers.
        # @param groups [Array<String>, nil] as for {#lag}
        # @param topics [Array<String>, nil]
        # @return [Array<Lag::GroupKeys::Row>]
        # @raise [ConfigurationError] listing every error
        # @raise [KafkaError, Rdkafka::RdkafkaError]
        def parked_keys(groups: nil, topics: nil)
          ask(groups, topics, :ordering) do |settings, some|
            Lag::GroupKeys.new(settings, some) do |topic, partition, span|
              each_message(topic, from: span.begin, until: span.end, partitions: partition, deserializer: :itself.to_proc)
            end.rows
          end
        end

        # Opens a dead letter topic, to look through it or to replay it. Whether this application runs does not matter.
        # @param name [String]
        # @yieldparam dead_letters [DeadLetterQueue::Topic] closed when the block ends
        # @return [Object] what the block returns
        # @raise [Guildhall::ArgumentError] where there is no such topic
        # @raise [ConfigurationError] listing every error
        # @raise [Rdkafka::RdkafkaError]
        def dead_letters(name)
          validate!
          open_log
          dead_letters = DeadLetterQueue::Topic.new(name, @config)
          yield dead_letters
        ensure
          dead_letters&.close
        end

        private

        # @param having [Symbol] only topics whose routes say that
        def ask(groups, topics, having = :itself)
          open_log
          chosen = Routing::Selection.new(groups:, topics:).choose(validate!).reject(&:assigned).select(&having)
          @clients.together(chosen).flat_map { |some| yield client_settings(some.first), some }
        end
      end
    end
  end
end
