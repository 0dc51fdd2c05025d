# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Reporting
      # From where on {Attention}, and the dashboard, call for a person: `config.attention`.
      #
      # @!attribute [r] old
      #   @return [Numeric] seconds: the age of the oldest message that is not done
      # @!attribute [r] very_old
      #   @return [Numeric] seconds: the same, for what is urgent
      # @!attribute [r] slow
      #   @return [Numeric] seconds for which a call of a consumer makes no progress
      # @!attribute [r] memory
      #   @return [Numeric] share of the memory that a process may have
      # @!attribute [r] errors
      #   @return [Integer] errors with one cause in ten minutes, that are no outage
      # @!attribute [r] dead_letters
      #   @return [Integer] of a topic, in an hour
      # @!attribute [r] rebalances
      #   @return [Integer] of a group in ten minutes, that need nobody
      # @!attribute [r] topics
      #   @return [Hash{String=>Hash{Symbol=>Numeric}}] `old`, `very_old` and `slow` of some topics
      Limits = Data.define(:old, :very_old, :slow, :memory, :errors, :dead_letters, :rebalances, :topics) do
        # @param topic [String]
        # @return [Limits] those of a topic
        def of(topic) = topics.key?(topic) ? with(**topics.fetch(topic)) : self
      end

      # (reopened: a block would not see the constants)
      class Limits
        SECONDS = OptionRules.seconds
        AGES = OptionRules.new("setting", old: SECONDS, very_old: SECONDS, slow: SECONDS)
        OWN = OptionRules.new("setting", old: SECONDS, very_old: SECONDS, slow: SECONDS,
          memory: OptionRules.rule("a share above 0, and 1 at most") { it.is_a?(Numeric) && it.real? && it.positive? && it <= 1 },
          errors: OptionRules.integer, dead_letters: OptionRules.integer, rebalances: OptionRules.integer,
          topics: OptionRules.rule("a Hash of topics and their limits: {\"reports\" => {old: 600}}") do |value|
            next unless value.is_a?(Hash) && value.all? { |name, limits| name.is_a?(String) && limits.is_a?(Hash) }

            problems = value.flat_map { |name, limits| AGES.errors(limits, prefix: "#{name}.") }
            problems.empty? || problems.join("; ")
          end)
        private_constant :SECONDS, :AGES, :OWN

        DEFAULT = new(old: 60, very_old: 300, slow: 60, memory: 0.85, errors: 5, dead_letters: 1, rebalances: 3, topics: {}.freeze)

        # For `config.attention`.
        # @api private
        RULE = OptionRules.rule("a Hash such as {old: 60, very_old: 300}") do |value|
          next unless value.is_a?(Hash)

          problems = OWN.errors(value)
          problems << "old must not be above very_old" if problems.empty? && !Limits.given(value).ordered?
          problems.empty? || problems.join("; ")
        end

        # @param values [Hash{Symbol=>Object}] some of them
        # @return [Limits] with the default ones
        def self.given(values) = DEFAULT.with(**values)

        # @!visibility private
        def ordered? = [self, *topics.keys.map { |name| of(name) }].all? { |one| one.old <= one.very_old }
      end
    end
  end
end
