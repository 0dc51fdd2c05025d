# frozen_string_literal: true

require_relative "answer"
require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # What one consumer group has committed of its topics, asked without joining it; and what could not be found out.
      class GroupOffsets
        # @return [Array<Problem>] one for each topic or partition that could not be asked
        attr_reader :problems

        # @param session [Session] with the group's id
        # @param routes [Array<Routing::Topic>] of that group
        def initialize(session, routes)
          @session = session
          @routes = routes
          @group = routes.first.group
          @problems = []
        end

        # Blocks for the brokers' answers, the first time.
        # @return [Array<Session::Topic>] those of the routes that can be asked
        # @raise [UnreachableError]
        def topics = (@topics ||= present)

        # Blocks for the coordinator's answer.
        # @return [Hash{Array(String, Integer)=>Array(Integer | nil, String | nil)}] offset and metadata by topic and partition; both nil
        #   where nothing was committed
        # @raise [UnreachableError]
        def committed
          places = topics.flat_map(&:places)
          begin
            known(@session.committed(places))
          rescue AuthenticationError
            raise
          rescue KafkaError => error
            report(nil, nil, error)
            {}
          end
        end

        # Blocks for the leaders' answers.
        # @return [Hash{Array(String, Integer)=>Range<Integer>}] the offsets that there are
        def ranges = known(@session.ranges(topics))

        def report(topic, partition, error)
          @problems << Problem.new(group: @group, topic:, partitions: partition && [partition], error:)
        end

        private

        # A pattern may match any number of topics.
        def present
          patterns, named = @routes.partition(&:pattern?)
          names = named.map(&:name)
          names |= @session.topic_names.select { |name| patterns.any? { |route| route.match?(name) } } if patterns.any?
          usable, others = @session.describe(names.sort).partition { |topic| topic.error.nil? }
          others.each { |topic| report(topic.name, nil, topic.error) }
          usable
        end

        def known(answers)
          answers.reject do |(topic, partition), answer|
            report(topic, partition, answer) if answer.is_a?(KafkaError)
          end
        end
      end
    end
  end
end
