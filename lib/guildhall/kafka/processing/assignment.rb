# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # What those work with who work on one partition for the time of its assignment, {Executor} and {Recovery}; and how they
      # report: with the partition's name, and, of events, the consumer group.
      #
      # @!attribute [r] partition
      #   @return [Partition]
      # @!attribute [r] offsets
      #   @return [OffsetTracker]
      # @!attribute [r] schedule
      #   @return [Schedule]
      # @!attribute [r] application
      #   @return [Application]
      Assignment = Data.define(:partition, :offsets, :schedule, :application) do
        # @param name [String] of an event
        # @return [void]
        def publish(name, **payload)
          application.publish(name, group: partition.topic.group, topic: partition.name, partition: partition.number, **payload)
        end

        # @param error [Exception]
        # @param type [String]
        # @return [void]
        def error(error, type, **payload)
          application.error(error, type, topic: partition.name, partition: partition.number, **payload)
        end
      end
    end
  end
end
