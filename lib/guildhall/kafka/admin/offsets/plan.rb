# frozen_string_literal: true

module Guildhall
  module Kafka
    class Admin
      class Offsets
        # One partition of a {Plan}. from: what is committed, nil: nothing; to: what is to be, nil: it stays; begin_offset, end_offset: of
        # the partition; skipped: offsets that the group would have read and never will; again: offsets that it has done and that come again
        # (where nothing was committed, both count as if it began at the beginning); clamped: the place that was asked for is none of the
        # partition's. done, metadata: what is written beside the new offset; was_done, had_metadata: what is beside the old one.
        # Marks of transactions, and what compaction has removed, have offsets, too: they count.
        Step = Data.define(:topic, :partition, :from, :to, :begin_offset, :end_offset, :skipped, :again, :clamped, :done, :metadata,
          :was_done, :had_metadata) do
          # @return [Array(String, Integer)]
          def place = [topic, partition]

          # @return [Boolean] whether anything is written
          def change? = !to.nil? && [to, done, metadata] != [from, was_done, had_metadata]
        end

        # What is to become of a group's offsets: {Offsets#plan}. Frozen; {#apply} does it.
        class Plan
          # @return [String]
          attr_reader :group
          # @return [Array<Step>] by topic and partition, also those that stay
          attr_reader :steps
          # @return [Array<Broker::ParkedKeys::Row>] keys that wait with messages before the new offset, which would never be handled
          attr_reader :parked_skipped
          # @return [Array<Broker::ParkedKeys::Row>] keys that wait with messages that come again with all that follows the new offset
          attr_reader :parked_again

          # @!visibility private
          def initialize(group:, steps:, parked_skipped:, parked_again:, offsets:)
            @group = group
            @steps = steps
            @parked_skipped = parked_skipped
            @parked_again = parked_again
            @offsets = offsets
            freeze
          end

          # @return [Array<Step>] that write something
          def changes = @steps.select(&:change?)

          # @return [Integer] offsets: see {Step}
          def skipped = @steps.sum(&:skipped)
          # (see #skipped)
          def again = @steps.sum(&:again)

          # Commits the new offsets in one request, if the group has no members and has committed nothing since the plan was made, and
          # verifies them. Done ranges and metadata of the partitions are dropped, except for a copy. Blocks for the brokers' answers.
          # @return [Plan] itself
          # @raise [LiveGroupError] naming the members: nothing was changed
          # @raise [OffsetsError] where others have committed meanwhile, or only some partitions were set: it says which
          # @raise [KafkaError] nothing was changed
          def apply
            @offsets.apply(self)
            self
          end

          def inspect = "#<#{self.class} of group #{@group}: #{changes.size} changes, #{skipped} skipped, #{again} again>"
        end
      end
    end
  end
end
