# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Karafka
    # The plug-in's settings, in `Guildhall::Karafka.setup`.
    class Settings
      include OptionRules::Assigned

      RULES = OptionRules.new(
        "setting",
        enabled: OptionRules.boolean, concurrency: OptionRules.integer.or(nil), min_payloads: OptionRules.integer,
        parallel: OptionRules.one_of(true, false, nil), deadline: OptionRules.seconds.or(nil),
        pool: OptionRules.object("a Guildhall::Pool", :dispatch).or(nil)
      )
      private_constant :RULES

      # @return [Boolean] false: nothing is subscribed to, and each payload is decoded where it is asked for. true unless set
      attr_accessor :enabled
      # @return [Integer, nil] worker Ractors of a pool of the plug-in's own; nil (unless set): those of {Guildhall.pool}
      attr_accessor :concurrency
      # @return [Integer] smaller batches of a partition are decoded where they are asked for; 10 unless set
      attr_accessor :min_payloads
      # @return [Boolean, nil] true: workers decode every batch that is big enough; nil (unless set): Documents without further
      #   stages are decoded where they are asked for, and of everything else the pool decides for each batch; false: consumers'
      #   threads do
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

      # @raise [ConfigurationError] listing everything that is wrong
      def validate!
        errors = setting_errors(RULES)
        errors << "set concurrency or pool, not both: a pool has its own workers" if @pool && @concurrency
        raise ConfigurationError, "Guildhall::Karafka.setup: #{errors.join("; ")}" if errors.any?

        self
      end
    end
  end
end
