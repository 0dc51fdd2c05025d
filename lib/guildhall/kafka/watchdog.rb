# frozen_string_literal: true

module Guildhall
  module Kafka
    # Notices partitions that should move and do not: assigned, not paused, nothing in work, messages left, position
    # unmoved for `config.stall_timeout`. The first cure is to seek to where it stands, the second to join the group anew.
    class Watchdog
      # @param application [Application]
      def initialize(application)
        @application = application
        @timeout = application.config.stall_timeout
        @seen = {}.compare_by_identity
      end

      # @return [Numeric] seconds between two calls of {#check} that notice a stall in time
      def interval
        [@timeout / 4.0, 10].min
      end

      # @return [void]
      def check
        present = @application.partitions
        @seen.keep_if { |partition, _| present.include?(partition) }
        present.each { |partition| look(partition) }
      end

      private

      # What is noted of a partition: its position, since when, and how often it was cured there.
      def look(partition)
        position, since, cures = @seen[partition]
        moving = position.nil? || position != partition.position || !partition.idle_behind?
        return @seen[partition] = [partition.position, Clock.now, 0] if moving
        return if Clock.now - since < @timeout

        cure(partition, position, cures)
        @seen[partition] = [position, Clock.now, cures + 1]
      end

      def cure(partition, position, cures)
        action = cures.zero? ? :seek : :rejoin
        @application.publish("partition.stalled", topic: partition.name, partition: partition.number, position:,
          end_offset: partition.end_offset, action:)
        action == :seek ? partition.seek(position) : partition.rejoin
      end
    end
  end
end
