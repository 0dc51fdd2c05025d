# frozen_string_literal: true

require_relative "../admin"
require_relative "../broker/iterator"
require_relative "../broker/lag"
require_relative "../broker/parked_keys"
require_relative "../broker/replay"
require_relative "../routing/route_selection"

module Guildhall
  module Kafka
    class Application
      # What an application asks the brokers, whether it runs or not. Any thread of the main Ractor.
      class Queries
        RULES = OptionRules.new(
          topic: Settings::Rules::TEXT,
          partitions: OptionRules.rule("the number of a partition, or an Array of them, or nil") do |given|
            (given.is_a?(Range) ? [given.begin, given.end] : Settings::Rules.list(given)).all?(Integer)
          end
        )
        private_constant :RULES

        def initialize(application, clients)
          @application = application
          @clients = clients
        end

        # How far the groups are behind, as the broker knows it, without topics that are read without a group.
        # Blocks for the brokers' answers.
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
        # @return [Broker::Answer] of {Broker::ParkedKeys::Row}s; arguments, and what is raised, as for {#lag}
        def parked_keys(groups: nil, topics: nil)
          ask(groups, topics, :ordering) { |settings, some| Broker::ParkedKeys.new(settings, some).answer }
        end

        # Opens a dead letter topic, to look through it or to replay it.
        # @yieldparam dead_letters [Broker::DeadLetters] closed when the block ends
        # @return [Object] what the block returns
        # @raise [Guildhall::ArgumentError] where there is no such topic
        # @raise [ConfigurationError, KafkaError]
        def dead_letters(name)
          RULES.check!({topic: name}, owner: "dead_letters")
          @application.validate!
          @application.open_log
          dead_letters = Broker::DeadLetters.new(name, @application.config)
          yield dead_letters
        ensure
          dead_letters&.close
        end

        # Administration of the cluster. Connects at the first question.
        # @param settings [Hash{Symbol=>Object}] librdkafka's, of another cluster or another user: they replace those of `config.kafka`
        # @yieldparam admin [Admin] closed when the block ends
        # @return [Object, Admin] what the block returns; without a block an {Admin}, which the caller closes
        # @raise [ConfigurationError] listing every error of the settings
        def admin(settings = {}, &)
          config = @application.config.dup
          config.kafka = {**config.librdkafka, **settings.transform_keys(&:to_sym)}
          config.validate!
          @application.open_log
          settings = {"client.id": config.client_id, **config.kafka}
          return Admin.open(settings, &) if block_given?

          Admin.new(settings)
        end

        # The messages of a topic, in order within each partition, without a consumer group: nothing is committed, and no member of any
        # group notices. Blocks while it waits for messages; leave it by `break`.
        # @param from [Integer, Symbol, Time] where to begin in each partition: an offset, :earliest, :latest, the first message at or
        #   after a Time; -10: with the last ten messages, which are read to be counted
        # @param until [Integer, Symbol, Time, nil] the offset, or the time, to stop before; :end: what is there now; nil: never
        # @param partitions [Array<Integer>, Integer, nil] nil: all
        # @param deserializer [#call, nil] nil: as the topic's route says, or none
        # @return [nil, Enumerator] without a block, an Enumerator, which may be `lazy`
        # @raise [Guildhall::ArgumentError] where there is no such topic, and for arguments that mean nothing
        # @raise [ConfigurationError] listing every error of the settings
        # @raise [KafkaError] also if a partition that is asked for has no leader; and unless `until` is nil, if nothing comes for 30 s
        #   although there is more to read
        def each_message(topic, from: :earliest, until: :end, partitions: nil, deserializer: nil, &block)
          til = binding.local_variable_get(:until) # which Ruby takes for a keyword of its own
          topic = topic.to_s
          RULES.check!({topic:, partitions:}, owner: "each_message")
          range = Broker::OffsetRange.new(from, til)
          unless block
            arguments = {from:, until: til, partitions:, deserializer:}
            return Enumerator.new { |messages| each_message(topic, **arguments) { |message| messages << message } }
          end

          iterator(topic, deserializer, partitions && [*partitions], range).each(&block)
          nil
        end

        private

        def ask(groups, topics, having = :itself)
          @application.open_log
          chosen = Routing::RouteSelection.new(groups:, topics:).choose(@application.validate!).reject(&:assigned).select(&having)
          Broker::Answer.merge(answers(@clients.together(chosen)) { |some| yield @clients.settings(some.first), some })
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

        def iterator(name, deserializer, partitions, range)
          config = @application.config
          config.validate!
          @application.open_log
          route = route(name, config.group_id)
          route = route.with(deserializer:) if deserializer
          settings = @clients.settings(route).merge("group.id": "#{config.client_id}.each_message")
          Broker::Iterator.new(route, settings, config, partitions, range) { @application.pool }
        end

        # The topic's route where there is one, else one for this alone.
        def route(name, group)
          found = @application.routes.topics.find { |topic| topic.match?(name) }
          (found || Routing::TopicBuilder.new(name, group, Config::Problems.new).build).with(name:)
        end
      end
    end
  end
end
