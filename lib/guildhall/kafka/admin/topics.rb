# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/suggestion"
require_relative "../broker/group_query"
require_relative "../broker/librdkafka"
require_relative "../routing/topic_config"
require_relative "topic_plan"

module Guildhall
  module Kafka
    class Admin
      # The topics of a cluster; {Admin#topics} gives them. Blocks, and raises, as {Admin} says; a topic that is not there is an
      # {UnknownTopicError} with the name that may be meant.
      #
      #     admin.topics.list.select { |topic| topic.under_replicated.positive? }
      #     admin.topics["orders"].settings["retention.ms"].value # => "604800000"
      #     admin.topics.create("orders", partitions: 6, replicas: 3, config: {"retention.ms": 86_400_000})
      class Topics
        # One partition. leader: the broker's id, nil: none leads it; replicas, in_sync: ids of brokers; offsets: those that can be read,
        # nil: not asked for, or (see `error`) not known.
        Partition = Data.define(:number, :leader, :replicas, :in_sync, :offsets, :error) do
          def initialize(offsets: nil, error: nil, **) = super
          def under_replicated? = in_sync.size < replicas.size
          def begin_offset = offsets&.begin
          def end_offset = offsets&.end
        end

        # One setting: its value as brokers write it, nil where that is secret. source: :topic, it was set for the topic; :broker, in the
        # brokers' configuration; :default, it is Kafka's own.
        Setting = Data.define(:name, :value, :source, :read_only, :sensitive)

        # One topic. settings: by name, nil: not asked for; error: a {KafkaError} that says why nothing else is known, else nil.
        Topic = Data.define(:name, :id, :internal, :partitions, :settings, :error) do
          def initialize(settings: nil, error: nil, **) = super

          # @return [Integer] copies of a partition: of the one that has most
          def replicas = partitions.map { |partition| partition.replicas.size }.max || 0

          # @return [Integer] how many partitions have fewer copies in sync than they should
          def under_replicated = partitions.count(&:under_replicated?)

          # @return [Integer] how many partitions can be neither read nor written
          def without_leader = partitions.count { |partition| partition.leader.nil? }

          # @return [Integer, nil] offsets between the begin and the end of all partitions: about the messages, more where the topic is
          #   compacted, or has transactions; nil: some are not known
          def messages = (partitions.sum { |partition| partition.offsets.size } if partitions.all?(&:offsets))
        end

        RESOURCE = 2 # numbers of the Kafka protocol
        SET = 0
        DELETE = 1
        # librdkafka's rd_kafka_ConfigSource_t; the rest are the brokers'.
        SOURCES = {1 => :topic, 5 => :default}.freeze
        INTERNAL = "__" # names of Kafka's own topics begin with it
        COUNT = OptionRules.integer(ceiling: 100_000).or(nil)
        RULES = OptionRules.new(
          name: Settings::Rules::TOPIC_NAME, partitions: COUNT, replicas: OptionRules.integer(1..32_767).or(nil),
          config: OptionRules.rule("a Hash of settings") { |value| value.is_a?(Hash) },
          before: OptionRules.rule("an offset, a Time or :end") do |value|
            value == :end || value.is_a?(Time) || (value.is_a?(Integer) && value.between?(0, (2**63) - 1))
          end
        )
        private_constant :RESOURCE, :SET, :DELETE, :SOURCES, :INTERNAL, :COUNT, :RULES

        # Tells where a value comes from, which the gem leaves out.
        module SourceOfSetting
          # @return [Integer]
          attr_reader :source

          def initialize(pointer)
            super
            @source = Kafka::Broker::Librdkafka.rd_kafka_ConfigEntry_source(pointer)
          end
        end
        Rdkafka::Admin::ConfigBindingResult.prepend(SourceOfSetting)
        private_constant :SourceOfSetting

        def initialize(connections) = @connections = connections

        # @param internal [Boolean] also Kafka's own, such as __consumer_offsets
        # @return [Array<String>] that this user may see, in the alphabet's order
        def names(internal: false) = session.topic_names.reject { |name| !internal && name.start_with?(INTERNAL) }.freeze

        # @return [Array<Topic>] without offsets and settings
        def list(internal: false)
          names = names(internal:)
          names.empty? ? [].freeze : find(names).reject { |topic| missing?(topic) }.freeze
        end

        # @return [Topic] with the offsets of its partitions, and its settings
        def describe(name)
          exists!(name)
          topic = find([name]).first
          raise topic.error if topic.error

          ranges = session.ranges([session.topic(name)])
          partitions = topic.partitions.map do |partition|
            range = ranges[[name, partition.number]]
            range.is_a?(Range) ? partition.with(offsets: range) : partition.with(error: range)
          end
          topic.with(partitions: partitions.freeze, settings: settings(name))
        end
        alias [] describe

        # Topics as they are now, also those that are not there: `error` says it.
        # @return [Array<Topic>] without offsets and settings, in the order of the names
        def find(names)
          names = names.to_a
          return [].freeze if names.empty?

          report = @connections.request("topics #{some(names)}") { |client| client.describe_topics(names) }
          report.topics.map { |found| topic(found) }.sort_by { |topic| names.index(topic.name) }.freeze
        end

        # @param partitions [Integer, nil] nil: the brokers' default
        # @param replicas [Integer, nil] copies of each partition; nil: the brokers' default
        # @param config [Hash{Symbol, String=>Object}] settings, by Kafka's names
        # @return [void]
        # @raise [Guildhall::ArgumentError] for what no topic can have; [KafkaError] for what the brokers refuse, or where it is there
        def create(name, partitions: nil, replicas: nil, config: {})
          RULES.check!({name:, partitions:, replicas:, config:}, owner: "create")
          config = checked(config)
          default = Kafka::Broker::AdminClient::BROKERS_DEFAULT
          @connections.request("topic #{name} to be created") do
            @connections.client.create_topic(name, partitions || default, config, replicas || default)
          end
          nil
        end

        # Its messages are lost.
        # @return [void]
        def delete(name)
          exists!(name)
          @connections.request("topic #{name} to be deleted") { |client| client.delete_topic(name) }
          nil
        end

        # Adds partitions. From then on, messages with the same key go to other partitions than those before: their order is not kept across
        # the change. Partitions cannot be taken away again.
        # @param partitions [Integer] how many there are to be
        # @return [Integer] how many there were
        # @raise [Guildhall::ArgumentError] where there are as many, or more
        def grow(name, partitions:)
          RULES.check!({partitions:}, owner: "grow")
          before = exists!(name).leaders.size
          raise Guildhall::ArgumentError, "grow: how many partitions is #{name} to have? It has #{before}" unless partitions
          if partitions <= before
            raise Guildhall::ArgumentError, "#{name} has #{before} partitions already, and cannot have fewer again: ask for more than that"
          end

          @connections.request("topic #{name} to have #{partitions} partitions") { |client| client.create_partitions(name, partitions) }
          before
        end

        # @return [Hash{String=>Setting}] all that the brokers know, by name
        def settings(name)
          report = @connections.request("the settings of topic #{name}") do |client|
            client.describe_configs([{resource_type: RESOURCE, resource_name: name}])
          end
          report.resources.flat_map(&:configs).map { |config| setting(config) }.sort_by(&:name).to_h { |one| [one.name, one] }.freeze
        end

        # Changes settings; others stay as they are.
        # @param set [Hash{Symbol, String=>Object}] values, by Kafka's names
        # @param unset [Array<String>] settings that are to have the brokers' value again
        # @return [void]
        # @raise [Guildhall::ArgumentError] for a setting that the brokers do not know
        def configure(name, set: {}, unset: [])
          exists!(name)
          set = checked(set)
          unset = unset.map(&:to_s)
          known = settings(name)
          [*set.keys, *unset].each do |setting|
            next if known.key?(setting)

            raise Guildhall::ArgumentError, "#{name} has no setting #{setting}#{Suggestion.for(setting, known.keys)}"
          end
          changes = set.map { |setting, value| {name: setting, value:, op_type: SET} } +
                    unset.map { |setting| {name: setting, value: nil, op_type: DELETE} }
          return if changes.empty?

          @connections.request("the settings of topic #{name} to be changed") do |client|
            client.incremental_alter_configs([{resource_type: RESOURCE, resource_name: name, configs: changes}])
          end
          nil
        end

        # Deletes the messages before a place, in each partition.
        # @param before [Integer, Time, Symbol] an offset; a time: messages that are older; :end: all that are there
        # @param partitions [Array<Integer>, nil] nil: all
        # @return [Hash{Integer=>Integer}] by partition, the first offset that is left
        # @raise [KafkaError] where that could not be done in some partitions: it names all of them, and what was done in the others
        def trim(name, before:, partitions: nil)
          RULES.check!({before:}, owner: "trim")
          numbers = exists!(name).leaders.keys
          unknown = partitions.to_a - numbers
          raise Guildhall::ArgumentError, "#{name} has no partition #{unknown.first}: it has #{numbers.size}" if unknown.any?

          places = (partitions || numbers).map { |partition| {partition:, offset: offset(name, partition, before)} }
          report = @connections.request("messages of topic #{name} to be deleted") { |client| client.delete_records(name => places) }
          done, refused = report.offsets.to_h.fetch(name).partition { |one| one.err.zero? }
          left = done.to_h { |one| [one.partition, one.offset] }.freeze
          refused.empty? ? left : raise(untrimmed(name, left, refused))
        end

        # What would have to be done so that these topics are as the routes say.
        # @param routed [Array<Routing::Topic>]
        # @return [TopicPlan]
        def plan(routed = Kafka.application.validate!) = TopicPlan.new(self, Routing::DeclaredTopic.all(routed))

        # @!visibility private
        # @return [Boolean] whether it was looked for, and is not there
        def missing?(topic) = !topic.error.nil? && Kafka::Broker::Errors.kind(topic.error) == :missing

        private

        def session = @connections.session

        # @return [Broker::Session::Topic]
        def exists!(name) = session.topic(name)

        def untrimmed(name, left, refused)
          reasons = refused.group_by(&:err).map do |code, some|
            "#{Printable.runs(some.map(&:partition))} (#{Rdkafka::Bindings.rd_kafka_err2str(code)})"
          end
          begin_at = left.map { |partition, offset| "#{name}/#{partition} begins at offset #{offset} now" }
          KafkaError.of(refused.first.err, ["messages were not deleted in partition#{"s" if refused.size > 1} #{reasons.join(", ")} of " \
                                            "topic #{name}", *begin_at].join("; "), trim: name)
        end

        def some(names) = "#{names.first(3).join(", ")}#{" …" if names.size > 3}"

        # @return [Hash{String=>String}]
        def checked(config)
          config = config.transform_keys(&:to_s)
          problems = Routing::TopicSettings.problems(config)
          raise Guildhall::ArgumentError, "settings #{problems.join("; settings ")}" if problems.any?

          config.transform_values { |value| Routing::TopicSettings.text(value) }
        end

        def topic(found)
          error = found[:error] && KafkaError.of(found[:error].rdkafka_response, "topic #{found[:name]}")
          partitions = found[:partitions].sort_by { |one| one[:partition] }.map { |one| partition(one) }
          name = found[:name].dup.force_encoding(Encoding::UTF_8).freeze
          Topic.new(name:, id: found[:topic_id].freeze, partitions: partitions.freeze, error:,
            internal: found[:is_internal] || name.start_with?(INTERNAL))
        end

        # librdkafka has -1 for no leader, and for one that is gone.
        def partition(found)
          leader = found.dig(:leader, :id)
          Partition.new(number: found[:partition], leader: (leader unless leader&.negative?), replicas: ids(found[:replicas]),
            in_sync: ids(found[:isr]))
        end

        def ids(nodes) = nodes.map { |node| node[:id] }.freeze

        def setting(config)
          secret = config.sensitive != 0
          Setting.new(name: config.name.freeze, value: (config.value.to_s.freeze unless secret), read_only: config.read_only != 0,
            sensitive: secret, source: SOURCES.fetch(config.source, :broker))
        end

        def offset(name, partition, before)
          return before unless before.is_a?(Time)

          session.offset_at(name, partition, before) || :end
        end
      end
    end
  end
end
