# frozen_string_literal: true

require "guildhall/text_table"
require_relative "../config"
require_relative "conflicts"
require_relative "group_builder"

module Guildhall
  module Kafka
    module Routing
      # The blocks of `Guildhall::Kafka.routes`, and the topics that they make. The blocks are kept, and evaluated when the application is
      # validated, so that settings may come after them.
      class Routes
        def initialize(config)
          @config = config
          @blocks = []
          @latest_topics = nil
        end

        def draw(&block)
          @blocks << block
          @latest_topics = nil
        end

        # Evaluates the blocks again: each time the application's code runs.
        def topics(problems = Config::Problems.new)
          builder = GroupBuilder.new(@config.group_id, problems)
          before = problems.to_a
          @blocks.each { |block| builder.apply(block) }
          topics = builder.complete.topics.map do |topic|
            next topic if topic.assigned # a topic that is read without a group has one reader

            topic.with(multiplexing: builder.multiplexed.fetch(topic.group, Multiplexing::NONE))
          end
          none = topics.empty? && problems.to_a == before
          problems.add('no topic is routed: Guildhall::Kafka.routes { topic "name" do … end }') if none
          unused = builder.multiplexed.keys - topics.select { |topic| topic.consumed? && !topic.assigned }.map(&:group)
          problems.add(*unused.map { |group| "group #{group}: multiplexing: no topic is consumed by this group" })
          problems.add(*Conflicts.new(topics).errors)
          @latest_topics = topics
        end

        # @return [Array<Topic>] as the blocks said when they were last evaluated. Any thread may ask, for each message: the blocks are
        #   evaluated only if they never were, or there are more since
        def latest_topics = @latest_topics || topics

        # @return [Delaying::DelayTopics, nil] those that messages of `produce_later` wait in; nil: the routes have none
        def delay_topics = latest_topics.filter_map(&:delay_topics).first

        # @return [String] a table for people
        def to_s = table(topics)

        # @param decodings [Hash{Topic=>Decoding}] how their payloads are decoded
        # @return [String] a table for people
        def table(topics, decodings = {})
          rows = topics.map do |topic|
            [topic.group, topic.to_s, topic.consumer&.to_s || "(produced to)", notes(topic, decodings[topic])]
          end
          TextTable.lines([["GROUP", "TOPIC", "CONSUMER", ""], *rows]).join("\n")
        end

        private

        def notes(topic, decoding)
          [*(topic.multiplexing if topic.consumed? && !topic.multiplexing.single?),
           *("decoded by: #{decoding}" if decoding && topic.deserializer), *topic.notes,
           *("#{topic.scheduled_tasks.size} scheduled tasks" if topic.scheduled_tasks)].join(", ")
        end
      end
    end
  end
end
