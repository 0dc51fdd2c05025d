# frozen_string_literal: true

require_relative "../suggestion"

module Guildhall
  class Pool
    # Checks the options of the pool's methods: all that is wrong is reported together.
    module Options
      BOOLEAN = ["true or false", ->(value) { [true, false].include?(value) }].freeze
      COUNT = ["an Integer ≥ 1, or nil", ->(value) { value.nil? || (value.is_a?(Integer) && value.positive?) }].freeze
      SECONDS = ["a finite number > 0 (seconds), or nil",
                 ->(value) { value.nil? || (value.is_a?(Numeric) && value.real? && value.positive? && value.finite?) }].freeze
      # What each option must be, and how to say so.
      RULES = {
        source: ["anything", ->(_) { true }], metadata: ["an Array, or nil", ->(value) { value.nil? || value.is_a?(Array) }],
        records: BOOLEAN, prepare: BOOLEAN, parallel: ["true, false or nil", ->(value) { [true, false, nil].include?(value) }],
        deadline: SECONDS, retry: BOOLEAN, slice: COUNT, min_payloads: COUNT,
        priority: ["an Integer from 1 to 1,000,000", ->(value) { value.is_a?(Integer) && value.between?(1, 1_000_000) }],
        timeout: ["a finite number ≥ 0 (seconds), or nil",
                  ->(value) { value.nil? || (value.is_a?(Numeric) && value.real? && !value.negative? && value.finite?) }],
        progress: ["true, a title, a callable, or nil",
                   ->(value) { [true, false, nil].include?(value) || value.is_a?(String) || value.respond_to?(:call) }],
        chunk: COUNT, ahead: COUNT, ordered: BOOLEAN,
        combine: ["a callable, or nil", ->(value) { value.nil? || value.respond_to?(:call) }]
      }.freeze
      DISPATCH = %i[source metadata records prepare parallel deadline retry slice min_payloads priority].freeze
      MAP = [*DISPATCH, :timeout, :progress].freeze
      STREAM = [*(MAP - [:metadata]), :chunk, :ahead, :ordered].freeze
      REDUCE = [*(STREAM - %i[ordered records]), :combine].freeze
      private_constant :BOOLEAN, :COUNT, :SECONDS, :RULES

      # @param options [Hash{Symbol=>Object}]
      # @param allowed [Array<Symbol>] the options of the method that was called
      # @return [Hash] the same
      # @raise [Guildhall::ArgumentError] naming every option that is wrong
      def self.check!(options, allowed)
        return options if options.empty?

        wrong = options.filter_map { |name, value| complaint(name, value, allowed) }
        raise Guildhall::ArgumentError, wrong.join("; ") if wrong.any?

        options
      end

      # @return [Array(Hash, Hash)] what {Pool#dispatch} takes, and the rest
      def self.split(options)
        options.partition { |name, _| DISPATCH.include?(name) }.map(&:to_h)
      end

      def self.complaint(name, value, allowed)
        unless allowed.include?(name)
          hint = Suggestion.for(name, allowed)
          return "unknown option #{name}#{hint.empty? ? "; there are #{allowed.join(", ")}" : hint}"
        end

        expected, rule = RULES.fetch(name)
        "#{name} must be #{expected}, not #{value.inspect}" unless rule.call(value)
      end
      private_class_method :complaint
    end
  end
end
