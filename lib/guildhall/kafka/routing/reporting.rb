# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Routing
      # How checks of a topic report what is wrong with it.
      module Reporting
        TOPIC_NAME = OptionRules.rule("the name of a topic") do |value|
          value.is_a?(String) && value.b.match?(/\A[a-zA-Z0-9._-]{1,249}\z/) && value != "." && value != ".."
        end

        # Of topics whose names end with seconds.
        TOPIC_PREFIX = OptionRules.rule("the beginning of topic names") do |value|
          value.is_a?(String) && TOPIC_NAME.problem("#{value}.1000000").nil?
        end
        ASCENDING_SECONDS = OptionRules.rule("one or more ascending numbers of seconds (5, 30, 300)") do |value|
          value.is_a?(Array) && value.any? &&
            value.all? { |seconds| OptionRules.seconds.problem(seconds).nil? && TOPIC_NAME.problem(seconds.to_s).nil? } &&
            value.each_cons(2).all? { |one, next_one| one < next_one }
        end

        # @param group [String] whose name cannot be part of a topic's
        # @return [String]
        def self.unfit(group)
          "the name of the group, #{group.inspect}, cannot be part of a topic's name (letters, digits, '.', '_' and '-' only, 249 " \
            "at most): set prefix:"
        end

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
