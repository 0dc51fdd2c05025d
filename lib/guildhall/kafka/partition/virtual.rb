# frozen_string_literal: true

require "guildhall/clock"
require_relative "partitioner"

module Guildhall
  module Kafka
    class Partition
      # Virtual partitions: a batch is dealt out in units, which runners run side by side, and the next batch begins when all of them have
      # ended. Where a consumer raises, {Run} has what is left consumed in order ("collapsed"), so that the message that fails can be found.
      # @api private
      class Virtual
        # What one consumer gets of a batch: shares, each for one call of `consume`. A runner runs it.
        class Unit
          def initialize(work, call, shares)
            @work = work
            @call = call
            @shares = shares
          end

          def run
            while (share = @shares.shift)
              @work.consume(@call, share)
            end
          ensure
            @shares.empty? ? @work.unit_ended : @work.push(self) # a consumer has ended this thread
          end
        end

        # A batch in work. Collects what the calls of `consume` come to, and tells {Run} once the last unit has ended.
        class Work
          # @param messages [Messages] all that are consumed
          def initialize(run, messages, partition)
            @run = run
            @messages = messages
            @partition = partition
            @progress = partition.progress
            @lock = Mutex.new
            @error = nil # the first that a consumer raised
          end

          # Does not block.
          # @param shares [Hash{ConsumerCall=>Array}]
          # @return [true] runners have it now
          def start(shares)
            @began = Clock.now
            @running = shares.size
            shares.each { |call, own| push(Unit.new(self, call, own)) }
            true
          end

          def push(unit) = @partition.runtime.runners.push(unit)

          # @param share [Array<Integer>] indexes
          def consume(call, share)
            call.consume(batch.messages(share, call)) do |result|
              @lock.synchronize { @error ||= result.error } if result.error
              settle(result)
            end
          end

          # Any runner, as {#consume}.
          def unit_ended
            end_work if @lock.synchronize { (@running -= 1).zero? }
          end

          private

          def batch = @messages.batch

          def settle(result)
            return @run.report(result.error, result.messages) if result.error

            @progress.complete_each(batch.generation) { result.messages.next_steps } if result.whole
          end

          def end_work
            @run.conclude(@messages, @began, @error, together: @messages.size > 1)
          ensure
            @partition.release
          end
        end

        # @param run [Run] told of each error, and when the last call has ended
        def initialize(partition, consumers, run)
          @partition = partition
          @consumers = consumers
          @run = run
          @partitioner = Partitioner.new(partition.topic.virtual_partitions, partition.runtime.config.concurrency)
        end

        # @param indexes [Array<Integer>] of the messages that are to be consumed
        # @return [#call, nil] hands it to the runners, and returns true; nil: the partition rests, or a seek has made the batch void
        # @raise what a consumer's `initialized` raises
        def begin(batch, indexes)
          messages = batch.messages(indexes)
          shares = deal(messages, indexes)
          -> { work(messages).start(shares) } if @run.begins?(batch)
        end

        private

        def work(messages) = Work.new(@run, messages, @partition)

        # @return [Hash{ConsumerCall=>Array}] who gets which shares
        def deal(messages, indexes)
          @partitioner.deal(messages, indexes) { |error, message| report(error, message) }
            .to_h { |number, share| [@consumers.at(number), [share]] }
        end

        def report(error, message) = @partition.reports.error(error, "virtual_partitions.partitioner", offset: message.offset)
      end
    end
  end
end
