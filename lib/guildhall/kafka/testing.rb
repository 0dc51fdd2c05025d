# frozen_string_literal: true

require "guildhall/option_rules"
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
        FIELDS = %i[key headers timestamp].freeze
        private_constant :FIELDS

        # @param given [Hash{Symbol=>Object}] key:, headers:, timestamp: of each; what answers `call` is called with the payload
        # @yieldparam number [Integer] from 1 on
        # @yieldreturn [Object] the payload
        # @raise [Guildhall::ArgumentError] without a block, and for another keyword
        def initialize(given, &payload)
          raise Guildhall::ArgumentError, "factory needs a block that makes a payload: { |number| {\"id\" => number} }" unless payload

          unknown = (given.keys - FIELDS).first
          raise Guildhall::ArgumentError, OptionRules.unknown("keyword #{unknown}", unknown, FIELDS) if unknown

          @given = given
          @payload = payload
          @number = 0
        end

        # @param changes [Hash] merged into the payload
        # @return [Message]
        # @raise [Guildhall::ArgumentError] where there are changes, and the payload is not a Hash
        def one(changes = {})
          payload = @payload.call(@number += 1)
          payload = merged(payload, changes) unless changes.empty?
          Testing.message(payload, **@given.transform_values { |value| value.respond_to?(:call) ? value.call(payload) : value })
        end

        # @return [Array<Message>]
        def many(count, changes = {}) = Array.new(count) { one(changes) }

        private

        def merged(payload, changes)
          return payload.merge(changes) if payload.respond_to?(:merge)

          raise Guildhall::ArgumentError, "changes are merged into a payload that is a Hash: this factory makes #{payload.class}"
        end
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
      # @param name [String, Symbol] a topic that the application routes, or that a pattern matches
      # @param group [String, nil] which consumer group's, where several consume the topic
      # @param application [Application, nil] nil: the process's
      # @raise [Guildhall::ArgumentError] where no route takes the topic, or none of that group
      # @raise [ConfigurationError] listing every error of the routes
      def self.topic(name, group: nil, application: nil)
        require "guildhall/kafka"
        application ||= Kafka.application
        problems = Config::Problems.new
        routes = application.routes.topics(problems)
        problems.raise!
        name = name.to_s
        taking = routes.select { |one| one.match?(name) } # rubocop:disable Style/SelectByRegexp -- a route is none
        matching = taking.select { |one| group.nil? || one.group == group }
        route = matching.find(&:consumed?)
        return OfflineTopic.new(route.pattern? ? route.narrowed(name) : route, application) if route
        raise Guildhall::ArgumentError, "the route of topic #{name} has no consumer" if matching.any?

        if taking.any?
          groups = taking.map(&:group).uniq
          raise Guildhall::ArgumentError, "topic #{name}: #{OptionRules.unknown("group #{group}", group, groups)}"
        end

        raise Guildhall::ArgumentError, OptionRules.unknown("topic #{name}", name, routes.select(&:consumed?).map(&:to_s))
      end
    end
  end
end
