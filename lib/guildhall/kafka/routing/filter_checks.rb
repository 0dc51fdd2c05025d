# frozen_string_literal: true

require_relative "reporting"

module Guildhall
  module Kafka
    module Routing
      # What can be wrong with a topic's filters.
      class FilterChecks
        include Reporting

        SECONDS = OptionRules.seconds
        ID = OptionRules.rule("a method of a message (:key) or a callable") do |value|
          value.is_a?(Symbol) ? Message.method_defined?(value) : value.respond_to?(:call)
        end
        RATE = OptionRules.rule("a rate above 0 and up to 1 (0.01: one message in a hundred)") do |value|
          value.is_a?(Numeric) && value.real? && value.positive? && value <= 1
        end
        RULES = {
          "throttle" => OptionRules.new(limit: OptionRules.integer, per: SECONDS), "delay" => OptionRules.new(seconds: SECONDS),
          "expire" => OptionRules.new(seconds: SECONDS), "sample" => OptionRules.new(rate: RATE),
          "deduplicate" => OptionRules.new(by: ID, window: OptionRules.integer)
        }.freeze
        private_constant :SECONDS, :ID, :RATE, :RULES

        def run
          @topic.filters.each do |filter|
            rules = RULES[filter.name]
            rules ? check(rules, filter.arguments, "#{filter.name} ") : check_own(filter.source, filter.arguments)
            takes("deduplicate by", filter.arguments[:by], 1) if filter.arguments[:by].respond_to?(:call) && rules
          end
          check_times
        end

        private

        # Filters are called again with what has waited, so that their order does not matter.
        def check_times
          expire = seconds("expire").min
          delay = seconds("delay").max
          report("expire #{expire} lets nothing through that delay #{delay} has made wait") if expire && delay && expire <= delay
        end

        def seconds(name)
          @topic.filters.filter_map { |filter| filter.arguments[:seconds] if filter.name == name }.select { SECONDS.problem(it).nil? }
        end

        def check_own(source, arguments)
          return report("filter needs a class, an object with call, or a block") if source.nil?
          return check_class(source, arguments) if source.is_a?(Class)
          return report("filter #{source.inspect} has no method call") unless source.respond_to?(:call)

          report("filter #{source.inspect} takes no keywords: only a class does") if arguments.any?
          takes("filter", source, 1)
        end

        def check_class(source, arguments)
          return report("filter #{source} has no method call") unless source.method_defined?(:call)

          takes("filter #{source}: call", source.instance_method(:call), 1)
          check_keywords(source, source.instance_method(:initialize).parameters, arguments.keys)
        end

        # What `new` would raise for each partition.
        def check_keywords(source, parameters, given)
          report("filter #{source}: initialize must take keywords only") if parameters.any? { |kind, _| kind == :req }
          missing = parameters.filter_map { |kind, name| name if kind == :keyreq } - given
          report("filter #{source}: missing keyword #{missing.join(", ")}") if missing.any?
          return if parameters.any? { |kind, _| kind == :keyrest }

          known = parameters.filter_map { |kind, name| name if %i[key keyreq].include?(kind) }
          (given - known).each { |name| report(OptionRules.unknown("keyword #{name} of filter #{source}", name, known)) }
        end
      end
    end
  end
end
