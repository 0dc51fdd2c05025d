# frozen_string_literal: true

module Guildhall
  module Kafka
    class Runtime
      # Notices partitions that should move and do not: assigned, not paused, nothing in work, messages left, position
      # unmoved for STALL_SECONDS. The first cure is to seek to its position, the second to rejoin the group.
      # The broker is asked only where librdkafka's account says too little: the position of a partition of which nothing was
      # read yet, and whether what lies ahead can be read before it is cured (open transactions cannot).
      # @api private
      class Watchdog
        # Longer than brokers take to elect leaders or to restart, during which a partition stands still by itself.
        STALL_SECONDS = 120
        # Checks within that time. They are counted, not the time: while a machine is suspended, nothing moves.
        CHECKS_PER_TIMEOUT = 4
        # A partition's position, in how many checks it has been there (nil: the broker is being asked), and how often it was
        # cured there; and the missing right that was reported when it was last looked at.
        Seen = Struct.new(:position, :checks, :cures, :denied)
        private_constant :Seen

        def initialize(runtime, stall_timeout: STALL_SECONDS)
          @runtime = runtime
          @stall_timeout = stall_timeout
          @seen = {}.compare_by_identity
        end

        # @return [Numeric] seconds between two calls of {#check} that notice a stall in time
        def interval
          @stall_timeout / CHECKS_PER_TIMEOUT.to_f
        end

        def check
          present = @runtime.partitions
          @seen.keep_if { |partition, _| present.include?(partition) }
          present.each { |partition| look(partition) }
        end

        private

        def look(partition)
          seen = @seen[partition]
          moving = seen.nil? || partition.read_to != seen.position || !partition.idle_behind?
          return @seen[partition] = Seen.new(partition.read_to, 0, 0) if moving
          return if seen.checks.nil? || (seen.checks += 1) < CHECKS_PER_TIMEOUT

          seen.checks = nil # until the broker has answered
          partition.inquire { |end_offset| answered(partition, seen, end_offset) }
        end

        # Called by the listener's thread.
        def answered(partition, seen, end_offset)
          cure(partition, seen, end_offset) if end_offset
          seen.checks = 0
        end

        def cure(partition, seen, end_offset)
          return ask_again(partition, seen) if partition.denied

          action = seen.cures.zero? ? :seek : :rejoin
          seen.cures += 1
          partition.stalls(seen.position, action)
          partition.reports.publish("partition.stalled", position: seen.position, end_offset:, action:)
          action == :seek ? partition.read_on(seen.position) : partition.rejoin
        end

        # Where the right to read is missing, rejoining would make the whole group stand still and change nothing. librdkafka reports the
        # missing right once for each seek; if it has not since the last one, the right is there.
        def ask_again(partition, seen)
          partition.denied = nil if partition.denied.equal?(seen.denied)
          seen.denied = partition.denied
          partition.read_on(seen.position)
        end
      end
    end
  end
end
