# frozen_string_literal: true

require "guildhall/clock"

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

        def initialize(run, messages, partition)
          @run = run
          @messages = messages
          @partition = partition
          @progress = partition.progress
          @lock = Mutex.new
          @began = @error = nil
        end

        # Hands units to the runners. Does not block.
        # @param units [Array<#run>]
        # @return [true] they have it now
        def start(units)
          @began = Clock.now
          @running = units.size
          units.each { |unit| @partition.runtime.runners.push(unit) }
          end_work if units.empty?
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
          elsif result.whole
            @progress.complete_each(batch.generation) { result.messages.next_steps }
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
    end
  end
end
