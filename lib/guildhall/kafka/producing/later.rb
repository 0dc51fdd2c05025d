# frozen_string_literal: true

require_relative "../delaying/envelope"

module Guildhall
  module Kafka
    module Producing
      # What the application's producer can do beside what waterdrop's can: messages that are consumed later.
      module Later
        # @!visibility private
        attr_writer :delay_tiers

        # Produces a message that reaches its topic at a time, by way of the delay topics of the routes. Blocks until a broker has it. It
        # arrives within a second of its time, plus the time that polling takes; the processes that consume the delay topics
        # have to run then.
        # @param at [Time, Numeric] when; a number: seconds since 1970. A time that is past: at once
        # @param topic [String] where to
        # @param payload [Object] encoded as the route of that topic says
        # @param key [String, nil]
        # @param headers [Hash{String=>String}]
        # @param partition [Integer, nil] nil: the partitioner decides
        # @return [Rdkafka::Producer::DeliveryReport] of the topic that it waits in
        # @raise [Guildhall::ArgumentError] where the routes have no delay topics
        # @raise as `produce_sync`
        def produce_later(at:, topic:, payload:, key: nil, headers: {}, partition: nil)
          tiers = @delay_tiers.call or raise Guildhall::ArgumentError, "produce_later needs delay topics: add `delay_topics` to the routes"
          raise Guildhall::ArgumentError, "produce_later at: takes a Time or seconds since 1970, not #{at.inspect}" unless time?(at)

          seconds = at.to_f - Time.now.to_f
          message = {topic: topic.to_s, payload:, key:, headers:, partition:}.compact
          return produce_sync(message) unless seconds.positive?

          message = middleware.run(message) # for its own topic, whose serializer makes bytes of it
          headers = {**message[:headers], **Delaying::Envelope.headers(at.to_f, topic.to_s, partition)}
          waiting = {topic: tiers.topic(seconds), payload: message[:payload], key: message[:key], headers:}.compact
          produce_many_sync([waiting], run_middleware: false).first.wait
        end

        private

        def time?(at) = at.is_a?(Time) || (at.is_a?(Numeric) && at.real?) || (at.respond_to?(:to_time) && at.respond_to?(:to_f))
      end
    end
  end
end
