# frozen_string_literal: true

require_relative "testing/embedded_broker"

module Guildhall
  module Kafka
    # For the tests of an application. Not loaded by `guildhall/kafka`.
    module Testing
      autoload :OfflineTopic, File.expand_path("testing/offline_topic", __dir__) # which needs all of Kafka
      autoload :Offline, File.expand_path("testing/offline_topic", __dir__)

      # One message to deliver, where those of a batch differ in more than their payloads: {message} and {factory} make them.
      Message = Data.define(:payload, :key, :headers, :timestamp)

      # Makes messages that are alike, each with the next number.
      class Factory
        # @param given [Hash{Symbol=>Object}] key:, headers:, timestamp: of each; what answers `call` is called with the payload
        # @yieldparam number [Integer] from 1 on
        # @yieldreturn [Object] the payload
        def initialize(given, &payload)
          @given = given
          @payload = payload
          @number = 0
        end

        # @param changes [Hash] merged into the payload
        # @return [Message]
        def one(changes = {})
          payload = @payload.call(@number += 1)
          payload = payload.merge(changes) unless changes.empty?
          Testing.message(payload, **@given.transform_values { |value| value.respond_to?(:call) ? value.call(payload) : value })
        end

        # @return [Array<Message>]
        def many(count, changes = {}) = Array.new(count) { one(changes) }
      end

      # A message for {OfflineTopic#deliver} with a key, headers or time of its own.
      # @param payload [Object] as `deliver` takes it
      # @param timestamp [Time, nil] nil: when it is delivered
      def self.message(payload, key: nil, headers: {}, timestamp: nil) = Message.new(payload:, key:, headers:, timestamp:)

      # @param given [Hash{Symbol=>Object}] key:, headers:, timestamp: as {Factory#initialize}
      # @yield (see Factory#initialize)
      # @return [Factory]
      def self.factory(**given, &) = Factory.new(given, &)

      # What the application's producer takes while the block runs is kept, in any thread; nothing is sent. Jobs included.
      # @yieldparam producer [Offline::Producer] whose `produced` has the messages
      # @return [Object] what the block returns
      def self.offline(application = nil)
        require "guildhall/kafka"
        application ||= Kafka.application
        producer = Offline.producer(application)
        application.stand_in(producer) { yield producer }
      end

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
