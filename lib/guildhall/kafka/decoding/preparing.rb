# frozen_string_literal: true

module Guildhall
  module Kafka
    module Decoding
      # Lets a codec do what it cannot do in a worker (fetch the schemas that a batch names, say) before the batch is
      # dispatched: the hook `prepare(payloads)`. Called by the listener, which reads nothing meanwhile.
      class Preparing
        # Seconds without another try once it has failed: a registry that does not answer must not stop all reading.
        PAUSE = 5

        # @param task [#call] a codec or a pipeline
        # @return [Preparing, nil] nil: there is nothing to prepare
        def self.for(task)
          codec = task.is_a?(Pipeline) ? task.decoder : task
          new(codec) if codec.respond_to?(:prepare)
        end

        # @param codec [#prepare]
        def initialize(codec)
          @codec = codec
          @failed_at = nil
        end

        # @param records [Array<Record>]
        # @return [Boolean] false: it did not work, or did not a moment ago; whoever decodes in the main Ractor finds out
        def call(records)
          return false if @failed_at && Clock.now - @failed_at < PAUSE

          @failed_at = nil
          @codec.prepare(records.reject(&:tombstone?).map(&:raw_payload))
          true
        rescue StandardError
          @failed_at = Clock.now
          false
        end
      end
    end
  end
end
