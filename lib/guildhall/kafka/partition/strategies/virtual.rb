# frozen_string_literal: true

require_relative "../partitioner"
require_relative "../work"

module Guildhall
  module Kafka
    class Partition
      # The strategy of virtual partitions: a batch is dealt out in units, which run side by side, and the next batch begins when all of
      # them have ended. Where a consumer raises, {Run} has what is left consumed in order ("collapsed"), so that the message that fails
      # can be found.
      class Virtual
        def initialize(partition, consumers)
          @partition = partition
          @consumers = consumers
          @partitioner = Partitioner.new(partition.topic.virtual_partitions, partition.runtime.config.concurrency)
        end

        # @return [nil] it sends nothing to the dead letters itself
        def blocked = nil

        # @return [nil] no keys are parked
        def parked_keys = nil

        # The partition is given up.
        def leave = nil

        # @param indexes [Array<Integer>] of the messages that are to be consumed
        # @param run [Run] told of what each call comes to, and when the last one has ended
        # @return [#call, nil] hands it to the runners, and returns true; nil: the partition rests, or a seek has made the batch void
        # @raise what a consumer's `initialized` raises
        def work(batch, indexes, run)
          messages = batch.messages(indexes)
          dealt = @partitioner.deal(messages, indexes) { |error, message| run.partitioner_failed(error, message) }
          work = Work.new(run, messages, @partition)
          units = dealt.map do |number, own|
            call = @consumers.at(number)
            Unit.new(work, call, batch.messages(own, call))
          end
          -> { work.start(units) } if run.begins?(batch)
        end
      end
    end
  end
end
