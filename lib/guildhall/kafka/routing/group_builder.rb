# frozen_string_literal: true

require_relative "topic_builder"

module Guildhall
  module Kafka
    module Routing
      # The block of `Guildhall::Kafka.routes`, and of `consumer_group "name" do … end` within it.
      class GroupBuilder
        METHODS = %i[topic pattern consumer_group defaults].freeze

        # @return [Array<Topic>]
        attr_reader :topics

        # @param group [String]
        # @param errors [Config::Errors]
        # @param defaults [Array<Proc>] settings that every topic begins with
        def initialize(group, errors, defaults = [])
          @group = group
          @errors = errors
          @defaults = defaults.dup
          @topics = []
        end

        # Settings for every topic that comes after it in this block.
        # @return [void]
        def defaults(&block)
          @defaults << block
        end

        # @param name [String, Symbol]
        # @return [void]
        def topic(name, &block)
          builder = TopicBuilder.new(name, @group, @errors)
          [*@defaults, *block].each { |settings| builder.apply(settings) }
          @topics << builder.build
        end

        # Every topic whose name matches, also those that are created later.
        # @param expression [Regexp]
        # @return [void]
        def pattern(expression, &)
          @errors.add("pattern #{expression.inspect} must be a Regexp") unless expression.is_a?(Regexp)
          topic(expression, &)
        end

        # @param name [String, Symbol]
        # @return [void]
        def consumer_group(name, &block)
          return @errors.add("consumer_group #{name.to_s.inspect} needs a block with its topics") unless block

          @errors.add("consumer_group needs a name") if name.to_s.strip.empty?
          inner = GroupBuilder.new(name.to_s, @errors, @defaults)
          inner.instance_eval(&block)
          @topics.concat(inner.topics)
        end

        private

        def method_missing(name, *)
          @errors.add("routes: #{OptionRules.unknown("setting #{name}", name, METHODS)}")
        end

        def respond_to_missing?(_name, _private = false)
          false
        end
      end
    end
  end
end
