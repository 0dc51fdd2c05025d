# frozen_string_literal: true

require_relative "../admin"
require_relative "../broker/iterator"
require_relative "../broker/lag_watch"
require_relative "../broker/parked_keys"
require_relative "../broker/replay"
require_relative "../broker/search"
require_relative "../routing/route_selection"

module Guildhall
  module Kafka
    class Application
      # What an application asks the brokers, whether it runs or not. Any thread of the main Ractor.
      # @api private
      class Queries
        RULES = OptionRules.new(
          topic: Settings::Rules::TEXT,
          partitions: OptionRules.rule("the number of a partition, or an Array of them, or nil") do |given|
            (given.is_a?(Range) ? [given.begin, given.end] : Settings::Rules.list(given)).all?(Integer)
          end,
          limit: OptionRules.integer.or(nil), messages: OptionRules.integer.or(nil), bytes: OptionRules.bytes.or(nil),
          seconds: OptionRules.seconds.or(nil)
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

        # As {#lag}, to look at again and again. Connects at the first look.
        # @return [Broker::LagWatch] close it
        # @raise [ConfigurationError] listing every error
        def lag_watch(groups: nil, topics: nil)
          Broker::LagWatch.new(together(groups, topics).map { |some| Broker::Lag.new(@clients.settings(some.first), some) })
        end

        # librdkafka's settings to ask about a group of any application, as {Broker::GroupQuery} takes them.
        # @!visibility private
        def group_settings(group)
          @application.config.validate!
          @application.open_log
          {"client.id": @application.config.client_id, **Producing::Settings.shared(@application.config.librdkafka), "group.id": group}
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
          @application.config.validate!
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
        # @param from [Integer, Symbol, Time, Hash{Integer=>Integer}] where to begin in each partition: an offset, :earliest, :latest, the
        #   first message at or after a Time; -10: with the last ten messages, which are read to be counted; a Hash: offsets by partition
        # @param until [Integer, Symbol, Time, Hash{Integer=>Integer}, nil] the offset, the time, or the offsets by partition, to stop
        #   before; :end: what is there now; nil: never
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

          route, settings = reading(topic, deserializer)
          Broker::Iterator.new(route, settings, @application.config, partitions && [*partitions], range) { @application.pool }.each(&block)
          nil
        end

        # A search for messages of a topic, which {Broker::Search#run} begins: in order within each partition, without a consumer group.
        # Payloads are decoded as the topic's route says: by its codec, or by a pipeline's stages up to the one that decodes.
        # @param where [String, JSON::Path::Condition, nil] a condition of the payload, such as `$.total > 5`
        # @param key [String, nil] only messages with this key, in the partition where the application's producer puts it
        # @param all_partitions [Boolean] whether a key is looked for in all of them: another producer may put it elsewhere, and so does
        #   ours once a topic has more partitions
        # @param headers [Hash{String=>String, nil}] which a message has to have; nil: with whatever value
        # @param from [Integer, Symbol, Time, Hash{Integer=>Integer}] as of {#each_message}; a Hash: the offset for each partition that is
        #   searched, as {Broker::Search::Progress#rest} has it
        # @param until [Integer, Symbol, Time, Hash{Integer=>Integer}, nil] as of {#each_message}, but an offset beyond the end is
        #   not waited for
        # @param partitions [Array<Integer>, Integer, nil] nil: all
        # @param deserializer [#call, nil] nil: as the topic's route says, or none; false: none
        # @param limit [Integer, nil] how many are found at most, and likewise messages, bytes and seconds: how many are searched, about
        # @param undecodable [Boolean] whether messages are found, too, whose payload cannot be decoded
        # @param outages [Boolean] whether a message is one of these, too, whose payload cannot be decoded because of an outage, such as a
        #   schema registry that does not answer; false: the outage ends the search with an error
        # @param decode [Boolean] false: the payloads of what is found are not decoded, unless a condition needs it
        # @return [Broker::Search] which does not connect before it is run
        # @raise [Guildhall::ArgumentError] for arguments that mean nothing
        # @raise [ConfigurationError] listing every error of the settings
        def search(topic, where: nil, key: nil, all_partitions: false, headers: {}, from: :earliest, until: :end, partitions: nil,
                   deserializer: nil, limit: nil, messages: nil, bytes: nil, seconds: nil, undecodable: false, outages: false, decode: true)
          til = binding.local_variable_get(:until) # which Ruby takes for a keyword of its own
          topic = topic.to_s
          RULES.check!({topic:, partitions:, limit:, messages:, bytes:, seconds:}, owner: "search")
          where = JSON::Path::Condition.new(where) if where.is_a?(String)
          route, settings = reading(topic, deserializer)
          partitions = partitions ? [*partitions] : (partition_of(key) if wanted_in_one?(key, all_partitions, from))
          Broker::Search.new(route, settings, @application.config, partitions:, undecodable:, outages:, decode:,
            range: Broker::OffsetRange.new(from, til, owner: "search"),
            conditions: Broker::Search::Conditions.new(where:, key: key&.b, headers: headers.transform_values { |value| value&.b }),
            bounds: Broker::Search::Bounds.new(limit:, messages:, bytes:, seconds:)) { @application.pool }
        end

        private

        # Where an empty key goes is left to chance by some partitioners.
        def wanted_in_one?(key, all_partitions, from) = !key.to_s.empty? && !all_partitions && !from.is_a?(Hash)

        # Of bytes: the gem hashes as many bytes as a String has characters, unlike librdkafka, which the producer leaves it to.
        def partition_of(key)
          bytes = key.b
          name = Producing::Settings.of(@application.config)[:partitioner].to_s
          ->(count) { [Rdkafka::Bindings.partitioner(nil, bytes, count, name)] }
        end

        def ask(groups, topics, having = :itself)
          Broker::Answer.merge(answers(together(groups, topics, having)) { |some| yield @clients.settings(some.first), some })
        end

        def together(groups, topics, having = :itself)
          @application.open_log
          @clients.together(Routing::RouteSelection.new(groups:, topics:).choose(@application.validate!).reject(&:assigned).select(&having))
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

        # @return [Array(Routing::Topic, Hash{Symbol=>Object})] the route, and librdkafka's settings, to read a topic without a group
        def reading(name, deserializer)
          config = @application.config
          config.validate!
          @application.open_log
          route = route(name, config.group_id)
          route = route.with(deserializer: deserializer || nil) unless deserializer.nil?
          [route, @clients.settings(route).merge("group.id": "#{config.client_id}.each_message")]
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
