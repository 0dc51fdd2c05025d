# frozen_string_literal: true

require "guildhall/suggestion"

module Guildhall
  module Karafka
    # The plug-in's settings, in `Guildhall::Karafka.setup`.
    class Settings
      POSITIVE = ->(value) { value.is_a?(Integer) && value.positive? }
      SECONDS = ->(value) { value.is_a?(Numeric) && value.real? && value.positive? && value.to_f.finite? }
      # What each setting must be, and how to say so.
      RULES = {
        enabled: ["true or false", ->(value) { [true, false].include?(value) }],
        concurrency: ["a positive Integer, or nil", ->(value) { value.nil? || POSITIVE.call(value) }],
        min_payloads: ["a positive Integer", POSITIVE],
        parallel: ["true, false or nil", ->(value) { [true, false, nil].include?(value) }],
        deadline: ["a number > 0 (seconds), or nil", ->(value) { value.nil? || SECONDS.call(value) }],
        pool: ["a Guildhall::Pool, or nil", ->(value) { value.nil? || value.respond_to?(:dispatch) }]
      }.freeze
      private_constant :POSITIVE, :SECONDS, :RULES

      # @return [Boolean] false: nothing is subscribed to, and each payload is decoded where it is asked for. true unless set
      attr_accessor :enabled
      # @return [Integer, nil] worker Ractors of a pool of the plug-in's own; nil (unless set): those of {Guildhall.pool}
      attr_accessor :concurrency
      # @return [Integer] smaller batches of a partition are decoded where they are asked for; 10 unless set
      attr_accessor :min_payloads
      # @return [Boolean, nil] true: workers decode every batch that is big enough; nil (unless set): where that is faster, as
      #   the pool measures; false: consumers' threads do
      attr_accessor :parallel
      # @return [Numeric, nil] seconds that a worker may take for one payload. Later it is decoded where it is asked for, and the
      #   worker is replaced. nil: no limit. 30 unless set
      attr_accessor :deadline
      # @return [Guildhall::Pool, nil] a pool that you have made; nil (unless set): see {#concurrency}
      attr_accessor :pool

      def initialize
        @enabled = true
        @min_payloads = 10
        @deadline = 30
        @concurrency = @parallel = @pool = nil
      end

      # @return [self]
      # @raise [ConfigurationError] listing everything that is wrong
      def validate!
        faults = [*@unknown, *RULES.filter_map { |name, rule| fault(name, *rule) }]
        faults << "set concurrency or pool, not both: a pool has its own workers" if @pool && @concurrency
        raise ConfigurationError, "Guildhall::Karafka.setup: #{faults.join("; ")}" if faults.any?

        self
      end

      private

      def fault(name, expected, rule)
        value = public_send(name)
        "#{name} must be #{expected}, not #{value.inspect}" unless rule.call(value)
      end

      # Noted, and reported with everything else that is wrong.
      def method_missing(name, *arguments)
        return super unless name.end_with?("=") && arguments.size == 1

        setting = name.to_s.delete_suffix("=")
        (@unknown ||= []) << "there is no setting #{setting}#{Suggestion.for(setting, RULES.keys)}"
      end

      def respond_to_missing?(_name, _private = false)
        false
      end
    end
  end
end
