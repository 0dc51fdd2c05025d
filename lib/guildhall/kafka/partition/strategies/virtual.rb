# frozen_string_literal: true

require_relative "../partitioner"
require_relative "in_order"

module Guildhall
  module Kafka
    class Partition
      # The strategy of virtual partitions: a batch is dealt out in units, which run side by side, and the next batch begins when all of them
      # have ended. Where a consumer raises, {Run} has what is left consumed in order ("collapsed"), so that the message that fails can be
      # found.
      class Virtual
        def initialize(partition, consumers)
          @partition = partition
          @consumers = consumers
          @progress = partition.progress
          @partitioner = Partitioner.new(partition.topic.virtual_partitions, partition.runtime.config.concurrency)
        end

        # Which consumers are needed is known with the batch only.
        # @return [nil]
        def prepare = nil

        # @return [nil] it sends nothing to the dead letters itself
        def blocked = nil

        # @return [nil] no keys are parked
        def parked_keys = nil

        # The partition is given up.
        def leave = nil

        # @param indexes [Array<Integer>] of the messages that are to be consumed
        # @param run [Run] told of what each call comes to, and when the last one has ended
        # @return [Work, nil] nil: the partition rests, or a seek has made the batch void
        # @raise what a consumer's `initialized` raises
        def work(batch, indexes, run)
          messages = batch.messages(indexes)
          dealt = @partitioner.deal(messages, indexes) { |error, message| run.partitioner_failed(error, message) }
          work = Work.new(run, messages, @partition) { |done| @progress.complete_each(batch.generation) { done.next_steps } }
          dealt.each do |place, own|
            call = @consumers.at(place)
            work.units << Unit.new(work, call, call.messages(batch, own))
          end
          work if run.begins?(batch)
        end
      end
    end
  end
end
