# frozen_string_literal: true

require_relative "../routing/declared_topic"

module Guildhall
  module Kafka
    class Admin
      # Compares the topics at the brokers with what the routes say, and makes them equal. Only what a route names is compared, and nothing
      # is ever deleted. {Topics#plan} makes one, which asks the brokers.
      #
      #     plan = admin.topics.plan
      #     puts plan.changes
      #     plan.apply { |change, error| warn "#{change}: #{error.message}" if error }
      class TopicPlan
        # One difference.
        #
        # - kind: `:create`, the topic is missing; `:change`; `:impossible`, `reason` says why it cannot be made as the routes say.
        # - name: "partitions", "replicas", or the setting's name; nil: the whole topic.
        # - from: what there is, nil: nothing, or it is not known; source: of a setting, where that comes from, as
        #   {Topics::Setting}.
        # - to: what the routes say; of a topic that is missing, a {Routing::TopicConfig}.
        # - reason: what follows from the change, or why it is impossible; nil: nothing to say.
        Change = Data.define(:topic, :kind, :name, :from, :source, :to, :reason) do
          def initialize(name: nil, from: nil, source: nil, to: nil, reason: nil, **) = super
          def possible? = kind != :impossible

          # @return [String] one line, as `guildhall topics plan` prints it
          def to_s
            sign = {create: "+", change: "~", impossible: "!"}.fetch(kind)
            what = kind == :create ? to.to_s : difference
            "#{sign} #{topic}#{": #{what}" unless what.empty?}#{" (#{reason})" if reason}"
          end

          # @return [Hash{String=>Object}] for JSON
          def to_json_members
            wanted = {"partitions" => to.partitions, "replicas" => to.replicas, "settings" => to.settings_as_text} if kind == :create
            {"topic" => topic, "change" => kind.to_s, "name" => name, "from" => from, "source" => source&.to_s, "to" => wanted || to,
             "reason" => reason}
          end

          private

          def difference
            return "" unless name

            from.nil? && to.nil? ? name : "#{name} #{from || "?"}#{" (#{source})" if source && source != :topic} → #{to}"
          end
        end

        KEYS_MOVE = "messages with the same key go to other partitions from then on"
        NO_FEWER = "Kafka cannot take partitions away: keep more, or produce to a new topic"
        NO_MOVING = "Kafka changes replicas by reassigning partitions only: kafka-reassign-partitions.sh"
        LOSS = "messages may be deleted, or lost"
        UNKNOWN = "the brokers have no such setting"
        private_constant :KEYS_MOVE, :NO_FEWER, :NO_MOVING, :LOSS, :UNKNOWN

        # @return [Array<Change>] frozen, in the order of the routes; empty: the topics are as they say
        attr_reader :changes

        # Blocks for the brokers' answers.
        # @param topics [Topics]
        # @param declared [Array<Routing::DeclaredTopic>]
        # @raise [KafkaError] as {Admin}; what is wrong with one topic alone is a change that is impossible
        def initialize(topics, declared)
          @topics = topics
          @declared = declared
          @found = topics.find([*declared.map(&:name), *declared.filter_map(&:source)].uniq).to_h { |topic| [topic.name, topic] }
          @changes = declared.flat_map { |one| changes_of(one) }.freeze
        end

        def empty? = @changes.empty?

        # @return [Array<Change>] those that {#apply} makes
        def possible = @changes.select(&:possible?)

        # Makes every change that is possible; where one fails, the others are made. Made again, of a new plan, it finds nothing to do.
        # @yieldparam change [Change] each that was made
        # @yieldparam error [KafkaError, Guildhall::ArgumentError, nil] why it was not made
        # @return [Boolean] whether all of them were made
        # @raise [UnreachableError] where no broker answers any more
        def apply
          possible.map do |change|
            error = failure { make(change) }
            yield change, error if block_given?
            error.nil?
          end.all?
        end

        private

        def failure
          yield
          nil
        rescue UnreachableError
          raise
        rescue KafkaError, Guildhall::ArgumentError => error
          error
        end

        def make(change)
          if change.kind == :create
            config = change.to
            return @topics.create(change.topic, partitions: config.partitions, replicas: config.replicas, config: config.settings)
          end
          return @topics.grow(change.topic, partitions: change.to) if change.name == "partitions"

          @topics.configure(change.topic, set: {change.name => change.to})
        end

        # How many partitions topics have, or will have.
        def numbers
          @numbers ||= {**@found.transform_values { |topic| topic.partitions.size }.reject { |_, number| number.zero? },
                        **@declared.to_h { |one| [one.name, one.config.partitions] }.compact}
        end

        def changes_of(declared)
          topic = @found.fetch(declared.name)
          return [Change.new(topic: topic.name, kind: :create, to: declared.creation(numbers))] if @topics.missing?(topic)
          return [impossible(topic, reason: topic.error.message)] if topic.error

          [*partitions(topic, declared.config.partitions), *replicas(topic, declared.config.replicas), *settings(topic, declared.config)]
        end

        def impossible(topic, **) = Change.new(topic: topic.name, kind: :impossible, **)

        def partitions(topic, wanted)
          from = topic.partitions.size
          return if wanted.nil? || wanted == from
          return impossible(topic, name: "partitions", from:, to: wanted, reason: NO_FEWER) if wanted < from

          Change.new(topic: topic.name, kind: :change, name: "partitions", from:, to: wanted, reason: KEYS_MOVE)
        end

        def replicas(topic, wanted)
          from = topic.replicas
          impossible(topic, name: "replicas", from:, to: wanted, reason: NO_MOVING) unless wanted.nil? || wanted == from
        end

        def settings(topic, config)
          return [] if config.settings.empty?

          known = @topics.settings(topic.name)
          config.settings_as_text.filter_map do |name, to|
            setting = known[name]
            next impossible(topic, name:, to:, reason: UNKNOWN) unless setting
            next if config.met?(name, setting.value)

            Change.new(topic: topic.name, kind: :change, name:, from: setting.value, source: setting.source, to:,
              reason: (LOSS if Routing::TopicSettings::HARMFUL.include?(name)))
          end
        rescue UnreachableError
          raise
        rescue KafkaError => error
          [impossible(topic, name: "settings", reason: error.message)]
        end
      end
    end
  end
end
