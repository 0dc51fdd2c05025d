# frozen_string_literal: true

require "etc"
require_relative "../suggestion"

module Guildhall
  class Pool
    # A pool's settings: validated together, then frozen.
    class Settings
      OVERFLOWS = %i[defer wait reject].freeze
      # What each setting must be, and how to say so.
      RULES = {
        workers: ["an Integer ≥ 0, or nil", ->(value) { value.nil? || (value.is_a?(Integer) && value >= 0) }],
        capacity: ["an Integer > 0 (payloads)", ->(value) { value.is_a?(Integer) && value.positive? }],
        overflow: ["one of #{OVERFLOWS.map(&:inspect).join(", ")}", ->(value) { OVERFLOWS.include?(value) }],
        overflow_timeout: ["a number > 0 (seconds)", ->(value) { value.is_a?(Numeric) && value.positive? }],
        parallel: ["true, false or nil", ->(value) { [true, false, nil].include?(value) }],
        min_payloads: ["an Integer > 0, or nil", ->(value) { value.nil? || (value.is_a?(Integer) && value.positive?) }],
        slice: ["an Integer > 0, or nil", ->(value) { value.nil? || (value.is_a?(Integer) && value.positive?) }],
        deadline: ["a number > 0 (seconds), or nil", ->(value) { value.nil? || (value.is_a?(Numeric) && value.positive?) }],
        max_abandoned: ["an Integer ≥ 0", ->(value) { value.is_a?(Integer) && value >= 0 }],
        breaker_deaths: ["an Integer > 0", ->(value) { value.is_a?(Integer) && value.positive? }],
        breaker_window: ["a number > 0 (seconds)", ->(value) { value.is_a?(Numeric) && value.positive? }],
        breaker_pause: ["a number > 0 (seconds)", ->(value) { value.is_a?(Numeric) && value.positive? }],
        logger: ["a Logger, or nil", ->(value) { value.nil? || value.respond_to?(:info) }],
        exit_timeout: ["a number ≥ 0 (seconds)", ->(value) { value.is_a?(Numeric) && !value.negative? }]
      }.freeze
      private_constant :RULES

      attr_reader(*RULES.keys)

      # How many workers pay off here: a core each, and one of Ruby's native threads (`RUBY_MAX_CPU`) left for others.
      # @return [Integer]
      def self.default_workers
        [Etc.nprocessors, [Integer(ENV.fetch("RUBY_MAX_CPU", 8), exception: false) || 8, 2].max - 1].min
      end

      # See {Pool#initialize}.
      # @raise [ConfigurationError] naming everything that is wrong
      def initialize(workers: nil, capacity: 100_000, overflow: :defer, overflow_timeout: 5, parallel: nil,
                     min_payloads: nil, slice: nil, deadline: nil, max_abandoned: 2, breaker_deaths: 10, breaker_window: 10,
                     breaker_pause: 30, logger: nil, exit_timeout: 1, **unknown)
        given = binding.local_variables.to_h { |name| [name, binding.local_variable_get(name)] }
        RULES.each_key { |name| instance_variable_set(:"@#{name}", given.fetch(name)) }
        check(unknown.keys)
        @workers ||= self.class.default_workers
        freeze
      end

      private

      def check(unknown)
        faults = unknown.map { |name| "unknown setting #{name}#{Suggestion.for(name, RULES.keys)}" }
        faults += RULES.filter_map do |name, (expected, rule)|
          value = instance_variable_get(:"@#{name}")
          "#{name} must be #{expected}, not #{value.inspect}" unless rule.call(value)
        end
        raise ConfigurationError, "pool: #{faults.join("; ")}" if faults.any?
      end
    end
  end
end
