# frozen_string_literal: true

require "guildhall/printable"
require_relative "../errors"
require_relative "../settings/rules"

module Guildhall
  module Kafka
    module Routing
      # Chooses the groups and topics that one process consumes: those that are named, or all, without those that are excluded. A topic may
      # be named although only a pattern matches it: then just that topic is meant. A pattern is named as `guildhall routes` prints it:
      # `/orders-.*/`.
      # @api private
      class RouteSelection
        # A group or topic was named that is not routed.
        class UnknownNameError < ConfigurationError; end

        # @param groups [Array<String, Symbol>, String, Symbol, nil] only these consumer groups; nil: all. The others alike
        def initialize(groups: nil, topics: nil, exclude_groups: nil, exclude_topics: nil)
          @groups = names(groups)
          @topics = names(topics)
          @exclude_groups = names(exclude_groups)
          @exclude_topics = names(exclude_topics)
        end

        # @param none [Boolean] whether there need not be any
        # @return [Array<Topic>] not empty, unless that is allowed and nothing is routed
        # @raise [UnknownNameError] for names that are not routed; where nothing is left, a {ConfigurationError}
        def choose(routes, none: false)
          routes = routes.select(&:consumed?)
          check(routes)
          chosen = without(only(routes))
          return chosen if chosen.any? || (none && routes.empty?)

          raise ConfigurationError, "nothing is left to consume: of the #{routes.size} routed topics none is both chosen and not excluded"
        end

        private

        def names(given)
          Settings::Rules.list(given).map { |name| Printable.valid(name.to_s) } unless given.nil?
        end

        def check(routes)
          names = routes.map(&:group).uniq
          wrong = [*@groups, *@exclude_groups].reject { |group| names.include?(group) }.map { |group| unknown("group", group, names) }
          wrong += [*@topics, *@exclude_topics].reject { |name| routes.any? { |topic| named?(topic, name) } }
            .map { |name| unknown("topic", name, routes.map(&:to_s)) }
          raise UnknownNameError, "not routed: #{wrong.uniq.join(", ")}" if wrong.any?
        end

        def unknown(kind, name, names)
          "#{kind} #{name}#{Suggestion.for(name, names)}"
        end

        def named?(topic, name)
          topic.to_s == name || (Settings::Rules::TOPIC_NAME.problem(name).nil? && topic.match?(name))
        end

        def only(routes)
          routes = of_groups(routes) if @groups
          return routes unless @topics

          chosen = routes.flat_map do |topic|
            @topics.intersect?(topic.names | topic.serves) ? [topic] : @topics.filter_map { |name| topic.narrowed(name) }
          end
          own, narrowed = chosen.partition { |topic| routes.include?(topic) }
          (own | narrowed).uniq { |topic| [topic.group, topic.name] } # a route of its own wins over a pattern
        end

        # Also the delay topics in which another group lets messages of theirs wait.
        def of_groups(routes)
          own, others = routes.partition { |topic| @groups.include?(topic.group) }
          names = own.flat_map(&:names)
          own + others.select { |topic| topic.serves.intersect?(names) }
        end

        def without(routes)
          routes = routes.reject { |topic| @exclude_groups.include?(topic.group) } if @exclude_groups
          return routes unless @exclude_topics

          routes.reject { |topic| @exclude_topics.intersect?(topic.names) }.map { |topic| topic.excluding(@exclude_topics) }
        end
      end
    end
  end
end
