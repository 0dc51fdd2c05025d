# frozen_string_literal: true

require_relative "../broker/offset_range"
require_relative "listener"

module Guildhall
  module Kafka
    module Group
      # The thread that reads a topic whose route assigns its partitions: no group is joined, no rebalance calls it back, and nothing is
      # committed.
      class DirectListener < Listener
        def initialize(topics, runtime, **)
          super
          @topic = topics.first
          @reached = {} # where another client continues
        end

        # There is nothing to commit.
        def commit_soon = nil

        private

        # Blocks for the brokers' answers.
        def subscribe
          new = @topic.assigned.except(*@reached.compact.keys)
          found = new.empty? ? {} : Broker::Session.open(settings) { |session| first_offsets(session, new) }
          offsets = @topic.assigned.to_h { |number, _| [number, @reached[number] || found.fetch(number)] }
          partitions_assigned(offsets.keys.map { |number| [@topic.name, number] })
          partitions.each { |partition| partition.progress.begin_at(offsets.fetch(partition.number)) }
          client.assign(@topic.name => offsets)
        end

        # @param wanted [Hash{Integer=>Object}] where each partition's route says to begin
        def first_offsets(session, wanted)
          topic = session.topic(@topic.name)
          wanted.group_by(&:last).each_with_object({}) do |(from, some), found|
            range = Broker::OffsetRange.new(from == :all ? :earliest : from, nil)
            range.resolve(session, topic, some.map(&:first)).each { |(_, number), offsets| found[number] = offsets.begin }
          end
        end

        def report_start(_pairs) = nil

        def commit_given_up(given_up, _deadline)
          given_up.each { |partition| @reached[partition.number] = partition.progress.next || @reached[partition.number] }
        end
      end
    end
  end
end
