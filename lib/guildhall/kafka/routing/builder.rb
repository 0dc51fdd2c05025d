# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../settings/rules"

module Guildhall
  module Kafka
    module Routing
      # Evaluates a block of the routes; the methods of a subclass are what the block may call. Mistakes are noted, not raised, so that all
      # of them are reported together.
      # @api private
      class Builder
        INTERNAL = %i[build multiplexed].freeze # methods for those who make a builder
        private_constant :INTERNAL

        # @return [Array<Symbol>] what the block may call
        def self.callable_names
          ancestors.take_while { |one| one != Builder }.flat_map { |one| one.public_instance_methods(false) }.uniq - INTERNAL
        end

        # @param place [String] where in the routes the block is; messages begin with it
        def initialize(problems, place)
          @problems = problems
          @place = place
          @incomplete = false # whether the rest of a block was left out
        end

        # Wrong arguments of our methods are noted like any other mistake, and the rest of the block is not evaluated. Any other error is
        # the application's, and is raised.
        # @raise [ConfigurationError] where the error says that the code is wrong
        def apply(block)
          instance_eval(&block)
        rescue NameError, TypeError, ::ArgumentError => error
          place = error.backtrace_locations&.first
          raise wrong_code(error) unless place && own?(place)

          @incomplete = true
          report("#{place.base_label}: #{keywords_only(place.base_label.to_sym) || error.message}")
        end

        private

        # @return [Exception] which says where in the application's code it was raised
        def wrong_code(error)
          return error if error.is_a?(ConfigurationError) || error.is_a?(UnknownSettingError)

          file_and_line = Logging::ApplicationFrame.of(error).to_s[/\A.+?:\d+/]
          ConfigurationError.new("#{[@place, *file_and_line].join(": ")}: #{error.message} (#{error.class})")
        end

        # @return [String, nil] what is wrong with other arguments, of a method that takes keywords only
        def keywords_only(_name) = nil

        # @return [Boolean] whether a method of this class was called with wrong arguments there
        def own?(place)
          name = place.base_label.to_sym
          self.class.callable_names.include?(name) && method(name).source_location.first == place.path
        end

        def report(text)
          @problems.add("#{@place}: #{text}")
          nil
        end

        # Notes keywords that a method does not have.
        def known(method, given, names)
          unknown = given.except(*names)
          unknown.each_key { |name| report("#{method}: #{OptionRules.unknown("keyword #{name}", name, names)}") }
          given.except(*unknown.keys)
        end

        # The name of topics that the application creates, where the route does not give one (by the keyword). A group's name may have
        # characters that a topic's must not.
        # @return [String, nil] nil: no topic can have that name, which is reported
        def name_after(group, name, setting, keyword, rule = Settings::Rules::TOPIC_PREFIX)
          return name if rule.problem(name).nil?

          report("#{setting} needs #{keyword}: after the group #{group.inspect} it would be #{name.inspect}, and topic names have " \
                 "letters, digits, '.', '_' and '-' only, 249 at most")
        end

        def method_missing(name, *)
          report(OptionRules.unknown("setting #{name}", name, self.class.callable_names))
        end

        def respond_to_missing?(_name, _private = false) = false
      end
    end
  end
end
