# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../settings/table"

module Guildhall
  module Kafka
    class Config
      # `config.deserializing.parallel`: whether and how payloads are decoded on the pool's workers.
      class Deserializing
        # The settings of `config.deserializing.parallel`.
        class Parallel
          extend Settings::Declared
          include OptionRules::Assigned

          setting :active, true, OptionRules.boolean,
            "false: no workers; the reader decodes where the codec has a native decoder, else the thread that asks for a payload"
          setting :concurrency, nil, OptionRules.integer.or(nil),
            "worker Ractors of the application's own pool; nil: as many as pay off"
          setting :min_payloads, nil, OptionRules.integer.or(nil),
            "smaller batches are not sent to workers; nil: the pool decides"
          RULES = settings.rules
          attr_accessor(*settings.names)

          private_constant :RULES

          def initialize
            self.class.settings.each { |setting| instance_variable_set(:"@#{setting.name}", setting.default) }
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
