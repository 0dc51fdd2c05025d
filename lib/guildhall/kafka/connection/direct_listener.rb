# frozen_string_literal: true

require_relative "direct_assignment"
require_relative "listener"

module Guildhall
  module Kafka
    module Connection
      # The thread that reads a topic whose route assigns its partitions: no group is joined, no rebalance calls it back, and nothing is
      # committed.
      class DirectListener < Listener
        # (see Listener#initialize)
        def initialize(topics, application, **)
          super
          @topic = topics.first
          @assignment = DirectAssignment.new(@topic)
        end

        # There is nothing to commit.
        def commit_soon; end

        private

        def subscribe
          offsets = @assignment.offsets(settings)
          client.assign(@topic.name => offsets)
          partitions_assigned(offsets.keys.map { |number| [@topic.name, number] })
          partitions.each { |partition| partition.begin_at(offsets.fetch(partition.number)) }
        end

        def commit_given_up(given_up, _deadline)
          given_up.each { |partition| @assignment.note(partition) }
        end
      end
    end
  end
end
