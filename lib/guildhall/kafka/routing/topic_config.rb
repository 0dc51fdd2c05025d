# frozen_string_literal: true

require "guildhall/suggestion"
require_relative "../settings/rules"
require_relative "../settings/table"

module Guildhall
  module Kafka
    module Routing
      # Kafka's settings of a topic, by name. Brokers of other makers have more of them, which are not checked here.
      # @api private
      module TopicSettings
        INTEGERS = %w[compression.gzip.level compression.lz4.level compression.zstd.level delete.retention.ms file.delete.delay.ms
                      flush.messages flush.ms index.interval.bytes local.retention.bytes local.retention.ms max.compaction.lag.ms
                      max.message.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms
                      message.timestamp.difference.max.ms min.compaction.lag.ms min.insync.replicas retention.bytes retention.ms
                      segment.bytes segment.index.bytes segment.jitter.ms segment.ms].freeze
        FLAGS = %w[preallocate remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
                   message.downconversion.enable unclean.leader.election.enable].freeze
        RATIOS = %w[min.cleanable.dirty.ratio].freeze
        LISTS = {"cleanup.policy" => %w[compact delete]}.freeze
        CHOICES = {"compression.type" => %w[uncompressed zstd lz4 snappy gzip producer],
                   "message.timestamp.type" => %w[CreateTime LogAppendTime]}.freeze
        OTHERS = %w[follower.replication.throttled.replicas leader.replication.throttled.replicas message.format.version].freeze
        # Changed, they may delete or lose messages.
        HARMFUL = %w[cleanup.policy min.insync.replicas retention.bytes retention.ms unclean.leader.election.enable].freeze
        NAMES = [*INTEGERS, *FLAGS, *RATIOS, *LISTS.keys, *CHOICES.keys, *OTHERS].sort.freeze
        FORM = /\A[a-z][a-z0-9]*([._-][a-z0-9]+)+\z/ # of names
        private_constant :INTEGERS, :FLAGS, :RATIOS, :LISTS, :CHOICES, :OTHERS, :FORM

        class << self
          # @return [Array<String>] everything that is wrong
          def problems(settings)
            return ["must be a Hash"] unless settings.is_a?(Hash)

            settings.filter_map { |name, value| unknown(name) || wrong(name, value) }
          end

          # @return [String] as brokers write it
          def text(value) = value.is_a?(Array) ? value.join(",") : value.to_s

          # @return [Boolean] whether two values mean the same
          def same?(name, one, other)
            one, other = [one, other].map { |value| text(value) }
            return one == other unless (parse = parser(name))

            [one, other].map { |value| parse.call(value) || value }.uniq.one?
          end

          private

          # A name that is like one of Kafka's is a mistake; any other may be of another maker.
          def unknown(name)
            return if NAMES.include?(name)

            dotted = name.tr("_", ".")
            hint = NAMES.include?(dotted) ? "; did you mean #{dotted}?" : Suggestion.for(name, NAMES)
            "have no #{name.inspect}#{hint.empty? ? ": names are such as \"retention.ms\"" : hint}" unless hint.empty? && FORM.match?(name)
          end

          def wrong(name, value)
            expected = expected(name, value)
            "must have #{expected} for #{name.inspect}, not #{value.inspect}" if expected
          end

          # @return [String, nil] nil: the value will do
          def expected(name, value)
            given = text(value)
            case name
            when *INTEGERS then "an Integer" unless integer(given)
            when *FLAGS then "true or false" unless %w[true false].include?(given)
            when *RATIOS then "a number from 0 to 1" unless Float(given, exception: false)&.between?(0, 1)
            when *LISTS.keys then LISTS[name].join(", ") unless (given.split(",") - LISTS[name]).empty?
            when *CHOICES.keys then CHOICES[name].join(", ") unless CHOICES[name].include?(given)
            else
              "a String or a number" unless [String, Symbol, Numeric, true, false].any? { |kind| kind === value }
            end
          end

          def integer(text) = Integer(text, 10, exception: false)

          def parser(name)
            case name
            when *INTEGERS then method(:integer)
            when *RATIOS then ->(text) { Float(text, exception: false) }
            when *LISTS.keys then ->(text) { text.split(",").sort }
            end
          end
        end

        RULE = OptionRules.rule("a Hash of a topic's settings: {\"retention.ms\" => 86_400_000}") do |value|
          problems = TopicSettings.problems(value)
          problems.empty? || problems.join("; config settings ")
        end
      end

      # What brokers are told of a topic: by the route (`config`), or for a topic that the framework sends messages on to.
      # inherited: it follows from another topic's.
      TopicConfig = Settings.value({inherited: false}) do
        setting :partitions, nil, Settings::Rules::COUNT.or(nil), "how many; nil: the brokers' `num.partitions`, and any number will do"
        setting :replicas, nil, OptionRules.integer(1..32_767).or(nil),
          "copies of each partition; nil: the brokers' `default.replication.factor`, and any number will do"
        setting :settings, {}, TopicSettings::RULE, "any other of the topic's settings, by Kafka's name: `\"retention.ms\": 86_400_000`",
          written: %w[config "SETTING":]
      end

      # (see TopicConfig)
      class TopicConfig
        # @api private
        OWN = %i[partitions replicas].freeze # keywords that are no settings of the topic
        # About, that a dead letter, or a message that is retried, is larger than it was.
        # @api private
        HEADER_BYTES = 1_000
        BYTES = "max.message.bytes"
        COPIED = "min.insync.replicas"
        private_constant :BYTES, :COPIED

        # @return [TopicConfig] of retry topics and dead letters of a topic with this one: as safe as that one, and large enough for its
        #   messages. Not how long messages are kept, nor compaction, which would lose messages that wait
        def for_copies
          return self if inherited

          copied = settings.slice(COPIED)
          bytes = Integer(settings[BYTES], exception: false)
          with(partitions: nil, settings: {**copied, **(bytes ? {BYTES => bytes + HEADER_BYTES} : {})}.freeze, inherited: true)
        end

        # @return [Hash{String=>String}] as brokers take them
        def settings_as_text = settings.transform_values { |value| TopicSettings.text(value) }

        # @return [String] the command that creates such a topic
        def command(name)
          own = settings_as_text.map { |setting, value| " --config #{setting}=#{value}" }
          "guildhall topics create #{name}#{" --partitions #{partitions}" if partitions}#{own.join}"
        end

        # @return [Boolean] whether a topic with this value needs no change
        def met?(name, value)
          wanted = settings.fetch(name)
          return true if TopicSettings.same?(name, wanted, value)

          inherited && name == BYTES && (Integer(value, exception: false) || 0) >= wanted
        end

        def to_s
          own = to_h.slice(*OWN).compact
          [*own.map { |name, number| "#{name} #{number}" }, *settings_as_text.map { |name, text| "#{name} #{text}" }].join(", ")
        end
      end
    end
  end
end
