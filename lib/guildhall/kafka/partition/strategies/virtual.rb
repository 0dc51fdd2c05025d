# frozen_string_literal: true

require "guildhall/clock"
require_relative "../partitioner"

module Guildhall
  module Kafka
    class Partition
      # A batch that several consumers work on, in units that run side by side. Collects what the calls of `consume` come to, and tells
      # {Run} once the last unit has ended.
      class Work
        # @return [Messages] all that are consumed
        attr_reader :messages
        # @return [Float] when it began, of the {Clock}
        attr_reader :began
        # @return [Exception, nil] the first that a consumer raised
        attr_reader :error
        # @return [Integer] how many messages `consume` has returned for
        attr_reader :size

        def initialize(run, messages, partition)
          @run = run
          @messages = messages
          @partition = partition
          @progress = partition.progress
          @units = []
          @lock = Mutex.new
          @began = @error = nil
          @size = 0
        end

        # @return [Array<#run>]
        attr_reader :units

        # Hands the units to the runners. Does not block.
        # @return [true] they have it now
        def start
          @began = Clock.now
          @running = @units.size
          @units.each { |unit| @partition.runtime.runners.push(unit) }
          end_work if @units.empty?
          true
        end

        def batch = @messages.batch

        # @return [Boolean] whether what has failed is parked, by key, and so needs no decision
        def parking? = false

        # A call of `consume` has ended. Any runner.
        # @param result [ConsumerCall::Result]
        def settle(result)
          if result.error
            @lock.synchronize { @error ||= result.error }
            @run.call_failed(result)
          else
            @lock.synchronize { @size += result.messages.size }
            @progress.complete_each(batch.generation) { result.messages.next_steps } if result.whole
          end
        end

        # A unit has ended, one way or the other. Any runner.
        def unit_ended
          end_work if @lock.synchronize { (@running -= 1).zero? }
        end

        private

        def end_work
          @run.work_ended(self)
        ensure
          @partition.release
        end
      end

      # What one consumer gets of a batch, in one call. A runner runs it.
      class Unit
        def initialize(work, call, messages)
          @work = work
          @call = call
          @messages = messages
        end

        def run
          @call.consume(@messages) { |result| @work.settle(result) }
        ensure
          @work.unit_ended
        end
      end

      # The strategy of virtual partitions: a batch is dealt out in units, which run side by side, and the next batch begins when all of
      # them have ended. Where a consumer raises, {Run} has what is left consumed in order ("collapsed"), so that the message that fails
      # can be found.
      class Virtual
        def initialize(partition, consumers)
          @partition = partition
          @consumers = consumers
          @progress = partition.progress
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
        # @return [Work, nil] nil: the partition rests, or a seek has made the batch void
        # @raise what a consumer's `initialized` raises
        def work(batch, indexes, run)
          messages = batch.messages(indexes)
          dealt = @partitioner.deal(messages, indexes) { |error, message| run.partitioner_failed(error, message) }
          work = Work.new(run, messages, @partition)
          dealt.each do |place, own|
            call = @consumers.at(place)
            work.units << Unit.new(work, call, batch.messages(own, call))
          end
          work if run.begins?(batch)
        end
      end
    end
  end
end
