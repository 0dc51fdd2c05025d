# frozen_string_literal: true

require_relative "../broker/lag"
require_relative "../broker/parked_keys"
require_relative "../broker/payload_sample"
require_relative "../broker/replay"

module Guildhall
  module Kafka
    class Application
      # What an application can ask the brokers, whether it runs or not.
      module Inspecting
        # How far the groups are behind, as the broker knows it, without topics that are read without a group; whether this
        # application runs does not matter. Blocks for the brokers' answers.
        # @param groups [Array<String>, nil] only these consumer groups; nil: all
        # @param topics [Array<String>, nil] only these topics; nil: all
        # @return [Broker::Answer] of {Broker::Lag::Row}s: an Array; `problems` says which topics and partitions could not be asked, and why
        # @raise [ConfigurationError] listing every error
        # @raise [UnreachableError] where nothing could be asked: no broker answers, or (AuthenticationError) they refuse the credentials
        def lag(groups: nil, topics: nil)
          ask(groups, topics) { |settings, some| Broker::Lag.new(settings, some).answer }
        end

        # Which keys the groups have parked, of routes with `ordering :key`, as far as their members have committed it: the messages
        # that were passed over, of parked keys and, for a moment, those that are in work. Blocks for the brokers' answers.
        # @param groups [Array<String>, nil] as for {#lag}
        # @return [Broker::Answer] of {Broker::ParkedKeys::Row}s, as for {#lag}
        # @raise [ConfigurationError] listing every error
        # @raise [UnreachableError] as for {#lag}
        def parked_keys(groups: nil, topics: nil)
          ask(groups, topics, :ordering) { |settings, some| Broker::ParkedKeys.new(settings, some).answer }
        end

        # Opens a dead letter topic, to look through it or to replay it. Whether this application runs does not matter.
        # @yieldparam dead_letters [Broker::DeadLetters] closed when the block ends
        # @return [Object] what the block returns
        # @raise [Guildhall::ArgumentError] where there is no such topic
        # @raise [ConfigurationError] listing every error
        # @raise [KafkaError]
        def dead_letters(name)
          validate!
          open_log
          dead_letters = Broker::DeadLetters.new(name, @config)
          yield dead_letters
        ensure
          dead_letters&.close
        end

        private

        # @param having [Symbol] only topics whose routes say that
        def ask(groups, topics, having = :itself)
          open_log
          chosen = Routing::RouteSelection.new(groups:, topics:).choose(validate!).reject(&:assigned).select(&having)
          Broker::Answer.merge(answers(@clients.together(chosen)) { |some| yield client_settings(some.first), some })
        end

        # The groups of one application may be at several clusters, of which one may be out of reach.
        def answers(groups)
          errors = []
          answers = groups.map do |some|
            yield some
          rescue UnreachableError => error
            errors << error
            Broker::Answer.new([], [Broker::Problem.new(group: some.first.group, topic: nil, partitions: nil, error:)])
          end
          raise errors.first if errors.any? && errors.size == groups.size

          answers
        end
      end
    end
  end
end
