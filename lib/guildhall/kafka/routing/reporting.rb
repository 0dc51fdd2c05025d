# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Routing
      # How checks of a topic report what is wrong with it.
      module Reporting
        TOPIC_NAME = OptionRules.rule("the name of a topic") { |value| value.is_a?(String) && value.match?(/\A[a-zA-Z0-9._-]{1,249}\z/) }

        # @param topic [Topic]
        # @param errors [Config::Errors]
        def initialize(topic, errors)
          @topic = topic
          @errors = errors
        end

        private

        # @param rules [OptionRules]
        # @param settings [#deconstruct_keys]
        # @param prefix [String] of the names in messages
        def check(rules, settings, prefix = "")
          rules.errors(settings.deconstruct_keys(rules.names), prefix:).each { |error| report(error) }
        end

        # What is called with another number of arguments than it takes would raise for every message.
        # @param callable [#call, UnboundMethod]
        def takes(name, callable, count)
          return if callable.is_a?(Proc) && !callable.lambda?

          arity = callable.respond_to?(:arity) ? callable.arity : callable.method(:call).arity
          return if arity.negative? ? ~arity <= count : arity == count

          taken = arity.negative? ? "#{~arity} or more" : arity
          report("#{name} is called with #{count} argument#{"s" unless count == 1}, and takes #{taken}")
        end

        def report(text)
          @errors.add("topic #{@topic.name.inspect}: #{text}")
        end
      end
    end
  end
end
