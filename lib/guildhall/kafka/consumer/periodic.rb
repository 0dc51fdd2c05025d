# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    class Consumer
      # What a consumer does from time to time, with or without messages.
      module Periodic
        RULES = OptionRules.new(seconds: OptionRules.seconds, block: OptionRules.kind("a block", Proc))
        private_constant :RULES

        # A block, and how often it is run.
        Period = Data.define(:seconds, :block)

        # For the class: `every 60 { … }`.
        module Declaring
          # Calls the block periodically in each consumer of this class, for as long as its partition is assigned. A runner thread calls it,
          # never at the same time as another method of that consumer. If it is due while the consumer is at work, it runs once
          # afterwards.
          # @param seconds [Numeric] by the process's clock: the first time comes sooner after an assignment
          # @raise [Guildhall::ArgumentError] if it is no time, or there is no block
          def every(seconds, &block)
            RULES.check!({seconds:, block:}, owner: "every")
            @periods = [*@periods, Period.new(seconds:, block:)].freeze
          end

          # @!visibility private
          # @return [Array<Period>] those of the superclass first
          def periods = [*(superclass.periods if superclass.respond_to?(:periods)), *@periods]
        end

        # @!visibility private
        def self.included(consumer)
          consumer.extend(Declaring)
        end

        # A class that was reloaded meanwhile may have fewer of them.
        # @!visibility private
        # @param index [Integer] of the period
        def periodic(index)
          period = self.class.periods[index]
          instance_exec(&period.block) if period
        end
      end
    end
  end
end
