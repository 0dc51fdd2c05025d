# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Partition
      # What consumers work on at the moment: a batch, or what is left of one, in one unit, or in several that run side by side. Collects
      # what the calls of `consume` come to, and tells {Run} once the last unit has ended.
      class Work
        # @return [Messages] all that are consumed
        attr_reader :messages
        # @return [Float] when it began, of the {Clock}
        attr_reader :began
        # @return [Exception, nil] the first that a consumer raised
        attr_reader :error
        # @return [Integer] how many messages `consume` has returned for
        attr_reader :size

        # @param partition [Partition, nil] whose runners work on it, and which is released at the end; nil: the runner that has the batch
        # @yieldparam messages [Messages] that `consume` has returned for: marks all of them as done
        def initialize(run, messages, partition = nil, &complete)
          @run = run
          @messages = messages
          @partition = partition
          @complete = complete
          @units = []
          @lock = Mutex.new
          @began = @error = nil
          @size = 0
        end

        # @return [Array<#run>]
        attr_reader :units

        # @return [Boolean] whether other runners have it now; false: it has ended
        def start
          @began = Clock.now
          @running = @units.size
          return @units.each(&:run) && false unless @partition

          @units.each { |unit| @partition.runtime.runners.push(unit) }
          end_work if @units.empty?
          true
        end

        def batch = @messages.batch

        # @return [Boolean] whether consumers work on it side by side, so that {#messages} does not tell what each has looked at
        def together? = !@partition.nil? && @messages.size > 1

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
            @complete.call(result.messages) if result.whole
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
          @partition&.release
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

      # The strategy of a partition that is consumed in the order of its messages: a batch is one unit, and the runner that has the batch
      # runs it.
      class InOrder
        def initialize(partition, consumers)
          @progress = partition.progress
          @consumers = consumers
        end

        # Makes the consumer, whose `initialized` may seek or pause.
        # @raise what that raises
        def prepare = @consumers.at(:in_order)

        # @param indexes [Array<Integer>] of the messages that are to be consumed
        # @param run [Run] told of what the call comes to
        # @return [Work]
        def work(batch, indexes, run)
          call = prepare
          messages = call.messages(batch, indexes)
          work = Work.new(run, messages) { @progress.complete(batch.offset_after(messages.last_offset), batch.generation) }
          work.units << Unit.new(work, call, messages)
          work
        end
      end
    end
  end
end
