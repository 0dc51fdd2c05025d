# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    class Config
      # `config.deserializing.parallel`: whether and how payloads are decoded on the pool's workers.
      class Deserializing
        # The settings of `config.deserializing.parallel`.
        class Parallel
          include OptionRules::Assigned

          RULES = OptionRules.new("setting", active: OptionRules.boolean, concurrency: OptionRules.integer.or(nil),
            min_payloads: OptionRules.integer.or(nil))
          private_constant :RULES

          # @return [Boolean] false: no workers: the reader decodes where the codec has a native decoder, else the thread that asks
          #   for a payload. true unless set
          attr_accessor :active
          # @return [Integer, nil] worker Ractors of the application's pool; nil: as many as pay off here
          attr_accessor :concurrency
          # @return [Integer, nil] smaller batches are not sent to workers; nil: the pool decides
          attr_accessor :min_payloads

          def initialize
            @active = true
            @concurrency = @min_payloads = nil
          end

          def validate(errors)
            errors.add(*setting_errors(RULES, prefix: "deserializing.parallel."))
          end
        end

        include OptionRules::Assigned

        RULES = OptionRules.new("setting", parallel: OptionRules.kind("the settings that are there", Parallel))
        private_constant :RULES

        attr_reader :parallel

        def initialize
          @parallel = Parallel.new
        end

        def validate(errors)
          @parallel.validate(errors)
          errors.add(*setting_errors(RULES, prefix: "deserializing."))
        end

        def freeze
          @parallel.freeze
          super
        end
      end
    end
  end
end
