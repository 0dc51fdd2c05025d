# frozen_string_literal: true

module Guildhall
  module Kafka
    module Routing
      # How checks of a topic report what is wrong with it.
      module Reporting
        # @param topic [Topic]
        # @param errors [Config::Errors]
        def initialize(topic, errors)
          @topic = topic
          @errors = errors
        end

        private

        def one_of(name, value, choices)
          report("#{name} has to be one of #{choices.map(&:inspect).join(", ")}, not #{value.inspect}") unless choices.include?(value)
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
