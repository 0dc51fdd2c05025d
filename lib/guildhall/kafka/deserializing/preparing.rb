# frozen_string_literal: true

require "timeout"
require "guildhall/callable"
require "guildhall/clock"

module Guildhall
  module Kafka
    module Deserializing
      # Lets a codec do what it cannot do in a worker (fetch the schemas that a batch names, say) before the batch is
      # dispatched: the hook `prepare(payloads)`. It is the application's code: a runner calls it, never the listener.
      class Preparing
        # Seconds without another try once it has failed: batches that wait must not keep runners busy with a registry
        # that does not answer.
        RETRY_PAUSE_SECONDS = 5

        # @param task [#call] a codec or a pipeline
        # @param report [#call] takes what `prepare` has raised
        # @return [Preparing, nil] nil: there is nothing to prepare
        def self.for(task, report)
          codec = task.is_a?(Pipeline) ? task.decoder || task.stages.first.callable : task
          new(codec, report) if codec.respond_to?(:prepare)
        end

        # @param report [#call] see {.for}
        def initialize(codec, report)
          @codec = codec
          @report = report
          @failed_at = -Float::INFINITY
        end

        # @param records [Array<Record>] without tombstones
        # @return [Boolean] false: it failed, or did a moment ago: the thread that asks for a payload decodes it
        def call(records)
          Clock.now - @failed_at >= RETRY_PAUSE_SECONDS && prepare(records)
        end

        private

        def prepare(records)
          Callable.prepare(@codec, records.map(&:raw_payload), records)
          prepared = true
        rescue SignalException, ::Timeout::ExitException
          raise # what interrupts the thread says nothing about the codec
        rescue Exception => error # rubocop:disable Lint/RescueException -- a LoadError would be raised by each payload in place of its own
          @report.call(error)
          false
        ensure
          @failed_at = Clock.now unless prepared # Thread.exit, too
        end
      end
    end
  end
end
