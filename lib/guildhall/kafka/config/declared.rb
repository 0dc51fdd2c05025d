# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    class Config
      # A table of settings: accessors, defaults, checks and the guide's table are made of it.
      module Declared
        # @!attribute [r] sentence
        #   @return [String] what the guide says of it
        Setting = Data.define(:name, :default, :rule, :sentence) do
          # @return [String] a row of the guide's table
          def to_row = "| `#{name}` | #{default.inspect} | #{sentence} |"
        end

        # Of the objects that have them.
        module Defaults
          private

          def set_defaults
            self.class.settings.each { |setting| instance_variable_set(:"@#{setting.name}", setting.default.dup) }
          end
        end

        def self.extended(klass) = klass.include(Defaults)

        # @return [Array<Setting>] in their order
        def settings = @settings ||= []

        # @return [OptionRules]
        def rules = @rules ||= OptionRules.new("setting", **settings.to_h { |setting| [setting.name, setting.rule] })

        # @return [String] Markdown
        def table = ["| setting | default | meaning |", "|---|---|---|", *settings.map(&:to_row)].join("\n")

        private

        def setting(name, default, rule, sentence, reader: true, writer: true)
          settings << Setting.new(name:, default: default.freeze, rule:, sentence:)
          attr_reader(name) if reader
          attr_writer(name) if writer
        end

        # @param missing [Hash{Symbol=>Object}] what counts for keys that are not there
        def hash_of(expected, missing, **rules)
          Ractor.make_shareable(missing)
          own = OptionRules.new("setting", **rules)
          OptionRules.rule(expected) do |value|
            next unless value.is_a?(Hash)

            problems = own.errors({**missing, **value})
            problems.empty? || problems.join("; ")
          end
        end
      end
      private_constant :Declared
    end
  end
end
