# frozen_string_literal: true

require_relative "../faults"
require_relative "group_builder"

module Guildhall
  module Kafka
    module Routing
      # What is consumed by whom: the block of `Guildhall::Kafka.routes`, and afterwards the list of topics. The block
      # is kept and evaluated when the application is validated, so that settings may come after it.
      class Routes
        # @param config [Config]
        def initialize(config)
          @config = config
          @blocks = []
        end

        # @return [void]
        def draw(&block)
          @blocks << block
        end

        # Evaluates the blocks anew.
        # @param faults [Faults]
        # @return [Array<Topic>]
        def topics(faults = Faults.new)
          builder = GroupBuilder.new(@config.group_id, faults)
          @blocks.each { |block| builder.instance_eval(&block) }
          topics = builder.topics
          faults.add("no topic is routed: Guildhall::Kafka.routes { topic \"name\" do … end }") if topics.empty?
          check_duplicates(topics, faults)
          topics
        end

        # @return [String] a table for people
        def to_s
          rows = topics.map { |topic| [topic.group, topic.to_s, topic.consumer&.to_s || "(produced to)", notes(topic)] }
          rows.unshift(["GROUP", "TOPIC", "CONSUMER", ""])
          widths = rows.transpose.map { |column| column.map(&:size).max }
          rows.map { |row| row.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }.join("\n")
        end

        private

        def check_duplicates(topics, faults)
          topics.group_by { |topic| [topic.group, topic.name] }.each do |(group, name), same|
            faults.add("topic #{name.inspect} is routed #{same.size} times in group #{group}") if same.size > 1
          end
        end

        def notes(topic)
          notes = []
          notes << "parallel: #{topic.parallel}" unless topic.parallel.nil?
          notes << "dead letters: #{topic.dead_letter_queue.topic}" if topic.dead_letter_queue
          notes << "virtual partitions" if topic.virtual_partitions
          notes << "manual offsets" if topic.manual_offset_management
          notes.join(", ")
        end
      end
    end
  end
end
