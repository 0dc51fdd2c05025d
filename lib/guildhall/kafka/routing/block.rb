# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Routing
      # A block of settings, evaluated by a builder whose methods they are. What is wrong is noted, not raised, so that all errors are
      # reported together.
      module Block
        # Wrong arguments are noted like any other error; the rest of that block is left out.
        # @param files [Array<String>] where the settings are defined: what is raised elsewhere is the application's
        def evaluate(block, files)
          instance_eval(&block)
        rescue ::ArgumentError => error
          place = error.backtrace_locations&.first
          raise unless files.include?(place&.path)

          yield "#{place.base_label}: #{error.message}"
        end

        private

        def refuse(setting, unknown)
          known = method(setting).parameters.filter_map { |kind, name| name if kind == :key }
          unknown.each_key { |name| report("#{setting}: #{OptionRules.unknown("keyword #{name}", name, known)}") }
        end
      end
    end
  end
end
