# frozen_string_literal: true

require "guildhall/digits"
require "guildhall/option_rules"
require_relative "consumer"

module Guildhall
  module Kafka
    # Messages that are produced now and consumed later: they wait in delay topics, not in memory. {DelayedProducing} sends a message to a
    # delay topic, with {DelayHeaders} of its own; there the {DueFilter} holds it back, and then the {Forwarder} sends it to the next
    # delay topic, or to its own topic when its time has come.
    # @api private
    module Delaying
      # The delay topics of a group. In each topic messages wait equally long, so that the first one is always due next; a message goes
      # from topic to topic until its time has come. delays: seconds, ascending; serves: topics whose delayed messages wait here, so that a
      # process that consumes one of them consumes these, too. Shareable.
      DelayTopics = Data.define(:prefix, :delays, :serves) do
        def initialize(serves: [].freeze, **) = super
        def name(delay) = "#{prefix}.#{delay}"

        # The topic for messages that cannot be sent on.
        def dead_letters = "#{prefix}.dead"

        # @return [String] the topic that it waits in next
        def topic(seconds) = name(delays.reverse_each.find { |delay| delay <= seconds } || delays.first)
      end
      # Seconds; a message that waits for a day passes some twenty of them.
      DelayTopics::DEFAULT = [1, 10, 60, 600, 3_600, 36_000].freeze

      # The headers of a message that waits: when it is due, and where it goes then.
      module DelayHeaders
        DUE = "delay_until" # milliseconds since 1970
        TOPIC = "delay_topic"
        PARTITION = "delay_partition"
        VERSION_NAME = "delay_version" # a message without it has the first one
        VERSION = 1
        private_constant :DUE, :TOPIC, :PARTITION, :VERSION_NAME, :VERSION

        # @param partition [Integer, nil] nil: the partitioner decides
        def self.for(due, topic, partition)
          {DUE => (due * 1000).round.to_s, TOPIC => topic, PARTITION => partition&.to_s, VERSION_NAME => VERSION.to_s}.compact
        end

        # @return [Hash{String=>String}] what the headers of messages to that topic have
        def self.to(topic) = {TOPIC => topic}

        # @return [Float, nil] seconds since 1970; nil: the message does not say it
        def self.due(message) = due_in(message.raw_headers)

        # @return [Float, nil] as {.due}
        def self.due_in(headers) = Digits.integer(headers[DUE])&.fdiv(1000)

        # @raise [NewerFormatError]
        def self.target(message)
          NewerFormatError.check!("#{message.inspect} in a delay topic", Digits.integer(message.raw_headers[VERSION_NAME]), VERSION)
          topic = message.raw_headers[TOPIC]
          topic && {topic:, partition: Digits.integer(message.raw_headers[PARTITION])}
        end

        def self.without(message) = message.raw_headers.except(DUE, TOPIC, PARTITION, VERSION_NAME)
      end

      # Extends the application's producer.
      module DelayedProducing
        # A number below (before September 2001) is taken for seconds from now on, a number above (after the year 5138) for milliseconds.
        SECONDS = 1_000_000_000..100_000_000_000
        RULES = OptionRules.new(
          at: OptionRules.rule("a Time or seconds since 1970") { |at| at.is_a?(Time) || DelayedProducing.problem(at) }
        )
        private_constant :SECONDS, :RULES

        # @!visibility private
        def self.problem(time)
          return time.respond_to?(:to_time) && time.respond_to?(:to_f) && !time.is_a?(String) unless time.is_a?(Numeric)
          return false unless time.real? && time.to_f.finite?
          return true if SECONDS.cover?(time)
          return "#{time} is in seconds since 1970, and looks like milliseconds" if time > SECONDS.end

          "#{time} is a time in #{Time.at(time).utc.year}; from now on: Time.now + #{time}"
        end

        # @!visibility private
        attr_writer :delay_topics

        # Produces a message that reaches its topic at a given time, by way of the delay topics of the routes. Blocks until a broker has it.
        # It arrives within a second of its time, plus the time that polling takes; the processes that consume the delay topics have to run
        # then.
        # @param at [Time, Numeric] when; a number: seconds since 1970. A time that is past: at once
        # @param topic [String] where to
        # @param payload [Object] encoded as the route of that topic says
        # @param partition [Integer, nil] nil: the partitioner decides
        # @return [Producing::Delivery::Report] of the topic that it waits in
        # @raise [Guildhall::ArgumentError] where the routes have no delay topics, and for a time that can only be meant otherwise
        # @raise as `produce_sync`
        def produce_later(at:, topic:, payload:, key: nil, headers: {}, partition: nil)
          message = {topic: topic.to_s, payload:, key:, headers:, partition:}.compact
          waiting = waiting(message, at)
          waiting ? produce_many_sync([waiting], run_middleware: false).first.wait : produce_sync(message)
        end

        # @!visibility private
        # @return [Hash, nil] what goes to a delay topic instead, after the steps; nil: the time has come
        # @raise as {#produce_later}
        def waiting(message, at)
          delay_topics = @delay_topics.call or
            raise Guildhall::ArgumentError, "produce_later needs delay topics: add `delay_topics` to the routes"
          RULES.check!({at:}, owner: "produce_later")
          seconds = at.to_f - Time.now.to_f
          return unless seconds.positive?

          made = middleware.run(message) # for its own topic, whose serializer makes bytes of it
          headers = {**made[:headers], **DelayHeaders.for(at.to_f, message[:topic], message[:partition])}
          {topic: delay_topics.topic(seconds), payload: made[:payload], key: made[:key], headers:}.compact
        end
      end

      # The filter of a delay topic: a message waits for the topic's time, or less where it is due before.
      class DueFilter
        def initialize(seconds:)
          @seconds = seconds
        end

        def call(messages)
          now = Time.now.to_f
          messages.each do |message|
            entered = message.timestamp&.to_f || now
            left = [entered + @seconds, DelayHeaders.due(message) || 0].min - now
            return messages.postpone(message, left) if left.positive?
          end
        end
      end

      # Consumes a delay topic: sends each message to the next delay topic, or, when its time has come, to its own topic. A message is done
      # here once the broker has it there, so that none is lost; after a crash some may be sent twice.
      class Forwarder < Consumer
        # For a message in a delay topic that does not say where it goes.
        class UnaddressedError < OwnError; end

        def consume
          now = Time.now.to_f
          @call.forward(messages.map { |message| [message, forwarded(message, now)] }, patient: false, once: true) do |parcels|
            parcels.take_while(&:arrived?).each { |parcel| mark_as_consumed(parcel.message) }
          end
          commit_offsets! # what a crash sends twice may be sent twice again by each topic that follows
        end

        private

        def forwarded(message, now)
          content = {payload: message.raw_payload, key: message.raw_key}
          left = (DelayHeaders.due(message) || 0) - now
          return {topic: topic.delay_topics.topic(left), **content, headers: message.raw_headers} if left.positive?

          target = DelayHeaders.target(message) or
            return UnaddressedError.new("#{message.inspect} has no header that says where it goes")
          {**target, **content, headers: DelayHeaders.without(message)}.compact
        rescue NewerFormatError => error # to the dead letters of the delay topics, so that what comes behind it goes on
          error
        end
      end
    end
  end
end
