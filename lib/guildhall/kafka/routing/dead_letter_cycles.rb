# frozen_string_literal: true

require_relative "group_routes"

module Guildhall
  module Kafka
    module Routing
      # Routes whose dead letters come back to them, directly or by way of other routes: a message that always fails would
      # circulate for ever. The routes of other groups count as well, for a dead letter topic is read by every group that
      # consumes it.
      class DeadLetterCycles
        def initialize(topics)
          @topics = topics.select(&:consumed?)
          @groups = @topics.group_by(&:group).each_value.map { |of_group| GroupRoutes.new(of_group) }
        end

        # @yieldparam topic [Topic] the first route of a cycle
        # @yieldparam names [Array<String>] the dead letter topics on the way, the last of which the route itself consumes
        def each
          reported = []
          @topics.each do |topic|
            next if reported.include?(topic) || (cycle = walk([topic])).nil?

            reported.concat(cycle)
            yield topic, cycle.map { |one| one.dead_letter_queue.topic }
          end
        end

        private

        # @return [Array<Topic>, nil] the routes from the first one back to it
        def walk(way)
          next_offset(way.last).each do |topic|
            return way if topic.equal?(way.first)

            cycle = walk([*way, topic]) unless way.include?(topic)
            return cycle if cycle
          end
          nil
        end

        def next_offset(topic)
          name = topic.dead_letter_queue&.topic
          name.is_a?(String) ? @groups.filter_map { |group| group.route(name) } : []
        end
      end
    end
  end
end
