# frozen_string_literal: true

require_relative "testing/embedded_broker"

module Guildhall
  module Kafka
    # For the tests of an application. Not loaded by `guildhall/kafka`.
    module Testing
      autoload :OfflineTopic, File.expand_path("testing/offline_topic", __dir__) # which needs all of Kafka

      # A consumer as its route would make it, without a broker: see {OfflineTopic}.
      # @param name [String] a topic that the application routes, or that a pattern matches
      # @param group [String, nil] which consumer group's, where several consume the topic
      # @param application [Application, nil] nil: the process's
      # @raise [Guildhall::ArgumentError] where no route takes the topic
      # @raise [ConfigurationError] listing every error of the routes
      def self.topic(name, group: nil, application: nil)
        require "guildhall/kafka"
        application ||= Kafka.application
        problems = Config::Problems.new
        routes = application.routes.topics(problems)
        problems.raise!
        matching = routes.select { |one| one.match?(name) && (group.nil? || one.group == group) }
        route = matching.find(&:consumed?)
        return OfflineTopic.new(route.pattern? ? route.narrowed(name) : route, application) if route
        raise Guildhall::ArgumentError, "the route of topic #{name} has no consumer" if matching.any?

        raise Guildhall::ArgumentError, OptionRules.unknown("topic #{name}", name, routes.select(&:consumed?).map(&:to_s))
      end
    end
  end
end
