# frozen_string_literal: true

require "guildhall/text_table"
require_relative "../config"
require_relative "conflicts"
require_relative "group_builder"

module Guildhall
  module Kafka
    module Routing
      # What is consumed by whom: the block of `Guildhall::Kafka.routes`, and afterwards the list of topics. The block
      # is kept and evaluated when the application is validated, so that settings may come after it.
      class Routes
        def initialize(config)
          @config = config
          @blocks = []
        end

        def draw(&block)
          @blocks << block
        end

        # Evaluates the blocks again.
        def topics(errors = Config::Errors.new)
          builder = GroupBuilder.new(@config.group_id, errors)
          before = errors.to_a
          @blocks.each { |block| builder.apply(block) }
          topics = with_members(builder.complete.topics, builder.multiplexed)
          errors.add("no topic is routed: Guildhall::Kafka.routes { topic \"name\" do … end }") if topics.empty? && errors.to_a == before
          unused = builder.multiplexed.keys - topics.select { |topic| topic.consumed? && !topic.assigned }.map(&:group)
          errors.add(*unused.map { |group| "group #{group}: multiplexing: no topic is consumed by this group" })
          errors.add(*Conflicts.new(topics).errors)
          topics
        end

        # @return [String] a table for people
        def to_s = table(topics)

        # @param decoded [Hash{Topic=>DecodingStrategy, nil}] who decodes them
        # @return [String] a table for people
        def table(topics, decoded = {})
          rows = topics.map do |topic|
            [topic.group, topic.to_s, topic.consumer&.to_s || "(produced to)", notes(topic, decoded[topic])]
          end
          TextTable.lines([["GROUP", "TOPIC", "CONSUMER", ""], *rows]).join("\n")
        end

        private

        # A topic that is read without a group has one reader.
        def with_members(topics, multiplexed)
          topics.map { |topic| topic.assigned ? topic : topic.with(multiplexing: multiplexed.fetch(topic.group, Multiplexing::NONE)) }
        end

        def notes(topic, plan)
          [*(topic.multiplexing if topic.consumed? && !topic.multiplexing.single?), *("decoded by: #{plan}" if plan && topic.deserializer),
           *topic.notes, *("#{topic.scheduled_tasks.size} scheduled tasks" if topic.scheduled_tasks)].join(", ")
        end
      end
    end
  end
end
