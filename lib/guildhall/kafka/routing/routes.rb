# frozen_string_literal: true

require "guildhall/text_table"
require_relative "../config/errors"
require_relative "dead_letter_cycles"
require_relative "group_builder"
require_relative "name_clashes"

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
          topics = builder.complete.topics.map { |topic| topic.assigned ? topic : multiplexed(topic, builder) }
          errors.add("no topic is routed: Guildhall::Kafka.routes { topic \"name\" do … end }") if topics.empty? && errors.to_a == before
          check_duplicates(topics, errors)
          check_prefixes(topics, errors)
          check_names(topics, errors)
          check_groups(builder.multiplexed.keys - topics.select { |topic| topic.consumed? && !topic.assigned }.map(&:group), errors)
          check_tasks(topics, errors)
          DeadLetterCycles.new(topics).each { |topic, names| report_cycle(topic, names, errors) }
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

        # What is read without a group has one reader.
        def multiplexed(topic, builder)
          topic.with(multiplexing: builder.multiplexed.fetch(topic.group, Multiplexing::NONE))
        end

        def check_duplicates(topics, errors)
          topics.group_by { |topic| [topic.group, topic.name] }.each do |(group, name), same|
            errors.add("topic #{name.inspect} is routed #{same.size} times in group #{group}") if same.size > 1
          end
        end

        # Topics in which messages wait belong to one group.
        def check_prefixes(topics, errors)
          groups = topics.group_by(&:waiting_prefix).except(nil).transform_values { |same| same.map(&:group).uniq }
          groups.each do |prefix, names|
            next if names.one?

            errors.add("groups #{names.join(" and ")} have the same prefix #{prefix.inspect}: each would take what the other's messages " \
                       "wait for; give each its own")
          end
        end

        def check_names(topics, errors)
          NameClashes.new(topics).each do |name, uses|
            errors.add("topic #{name.inspect} would be #{uses.join(" and ")}: give one of them another name")
          end
        end

        def check_groups(without_topics, errors)
          without_topics.each { |group| errors.add("group #{group}: multiplexing: no topic is consumed by this group") }
        end

        def check_tasks(topics, errors)
          topics.flat_map { |topic| topic.scheduled_tasks.to_a.map(&:name) }.tally.each do |name, count|
            errors.add("schedule: there are #{count} tasks #{name.inspect}") if count > 1
          end
        end

        def report_cycle(topic, names, errors)
          errors.add("topic #{topic.name.inspect}: its dead letters come back to it (#{[topic, *names].join(" → ")}): give one of these " \
                     "routes another dead_letter_queue topic, or none")
        end

        def members(topic)
          topic.consumed? && !topic.multiplexing.single? ? [topic.multiplexing.to_s] : []
        end

        def notes(topic, plan)
          notes = [*members(topic), *("decoded by: #{plan}" if plan && topic.deserializer)]
          notes << "parallel: #{topic.parallel}" unless topic.parallel.nil?
          notes << "dead letters: #{topic.dead_letter_queue.topic}" if topic.dead_letter_queue
          notes << (topic.ordering ? "virtual partitions, ordered by key" : "virtual partitions") if topic.virtual_partitions
          notes << "filters: #{topic.filters.map(&:name).join(", ")}" if topic.filters.any?
          notes << "retries after #{topic.retry_topics.delays.join(", ")} s" if topic.retry_topics&.first?
          [*notes, *own_notes(topic)].join(", ")
        end

        def own_notes(topic)
          [*("#{topic.scheduled_tasks.size} scheduled tasks" if topic.scheduled_tasks), *offset_notes(topic)]
        end

        def offset_notes(topic)
          [("partitions #{topic.assigned.keys.join(", ")} without a group" if topic.assigned),
           ("transactional" if topic.transactional), ("manual offsets" if topic.manual_offset_management)].compact
        end
      end
    end
  end
end
