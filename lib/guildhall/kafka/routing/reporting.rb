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

        # The name of topics that the application creates, where the route does not give one. A group may be called what a topic may not.
        # @param name [String] made of the group's name
        # @param keyword [String] of the setting that gives another name, with its article
        # @yieldparam problem [String] to follow the setting's name
        # @return [String, nil] nil: topics cannot be called that
        def self.name_after(group, name, keyword, rule = TOPIC_PREFIX)
          return name if rule.problem(name).nil?

          yield "needs #{keyword}: after the group #{group.inspect} it would be #{name.inspect}, and topic names have letters, digits, " \
                "'.', '_' and '-' only, 249 at most"
          nil
        end

        def initialize(topic, errors)
          @topic = topic
          @errors = errors
        end

        private

        # @param prefix [String] of the names in messages
        def check(rules, settings, prefix = "")
          rules.errors(settings.deconstruct_keys(rules.names), prefix:).each { |error| report(error) }
        end

        # What is called with another number of arguments than it takes would raise for every message.
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
