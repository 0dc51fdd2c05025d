# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "../delaying/envelope"

module Guildhall
  module Kafka
    module Producing
      # What the application's producer can do beside what waterdrop's can: messages that are consumed later.
      module Later
        # Numbers below, in 2001, are taken for seconds from now on, and those above, in the year 5138, for milliseconds.
        SECONDS = 1_000_000_000..100_000_000_000
        RULES = OptionRules.new(at: OptionRules.rule("a Time or seconds since 1970") { |at| at.is_a?(Time) || Later.problem(at) })
        private_constant :SECONDS, :RULES

        # @!visibility private
        # @return [String, Boolean] as {OptionRules::Rule}
        def self.problem(time)
          return time.respond_to?(:to_time) && time.respond_to?(:to_f) && !time.is_a?(String) unless time.is_a?(Numeric)
          return false unless time.real? && time.to_f.finite?
          return true if SECONDS.cover?(time)
          return "#{time} is in seconds since 1970, and looks like milliseconds" if time > SECONDS.end

          "#{time} is a time in #{Time.at(time).utc.year}; from now on: Time.now + #{time}"
        end

        # @!visibility private
        attr_writer :delay_tiers

        # Produces a message that reaches its topic at a time, by way of the delay topics of the routes. Blocks until a broker has it. It
        # arrives within a second of its time, plus the time that polling takes; the processes that consume the delay topics
        # have to run then.
        # @param at [Time, Numeric] when; a number: seconds since 1970. A time that is past: at once
        # @param topic [String] where to
        # @param payload [Object] encoded as the route of that topic says
        # @param partition [Integer, nil] nil: the partitioner decides
        # @return [Rdkafka::Producer::DeliveryReport] of the topic that it waits in
        # @raise [Guildhall::ArgumentError] where the routes have no delay topics, and for a time that can only be meant otherwise
        # @raise as `produce_sync`
        def produce_later(at:, topic:, payload:, key: nil, headers: {}, partition: nil)
          tiers = @delay_tiers.call or raise Guildhall::ArgumentError, "produce_later needs delay topics: add `delay_topics` to the routes"
          RULES.check!({at:}, owner: "produce_later")
          seconds = at.to_f - Time.now.to_f
          message = {topic: topic.to_s, payload:, key:, headers:, partition:}.compact
          return produce_sync(message) unless seconds.positive?

          message = middleware.run(message) # for its own topic, whose serializer makes bytes of it
          headers = {**message[:headers], **Delaying::Envelope.headers(at.to_f, topic.to_s, partition)}
          waiting = {topic: tiers.topic(seconds), payload: message[:payload], key: message[:key], headers:}.compact
          produce_many_sync([waiting], run_middleware: false).first.wait
        end
      end
    end
  end
end
