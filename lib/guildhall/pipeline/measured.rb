# frozen_string_literal: true

module Guildhall
  class Pipeline
    private_constant :Meter

    # A pipeline that counts what becomes of its values, stage by stage, in all Ractors together.
    # @api private
    class Measured < Pipeline
      def initialize(stages, names: nil)
        @meter = Meter.new(stages.sum { |stage| Stage.all(stage).size })
        super
      end

      # (see Pipeline#call)
      def call(payload, metadata = nil)
        value = payload
        index = 0
        since = @meter.now
        while index < @stages.size
          value = @stages[index].call(value, metadata)
          if DROPPED.equal?(value)
            @meter.add(index, Batch::DROPS, 1, since)
            return DROPPED
          end
          since = @meter.add(index, Batch::PASSED, 1, since)
          index += 1
        end
        value
      rescue Exception => error # rubocop:disable Lint/RescueException -- only marked and counted, then raised on
        @meter.add(index, Batch::RAISED, 1, since)
        Failure.mark(error, @names[index])
        raise
      end

      # (see Pipeline#call_batch)
      def call_batch(payloads, metadata = nil, &)
        Batch.new(payloads, metadata).run(@stages, @names, @meter, &)
      end

      # @return [Measured] itself
      def measured = self

      # Counts and times of each stage so far.
      # @return [Hash{Symbol=>Hash}] by stage: `passed`, `dropped`, `failed` (values) and `seconds` (spent, over all
      #   Ractors)
      def stats
        @names.each_with_index.to_h do |name, index|
          passed, dropped, failed, nanoseconds = @meter.read(index)
          [name, {passed:, dropped:, failed:, seconds: nanoseconds / 1e9}]
        end
      end

      # None: a caller with the decoder would do the first stage's work, uncounted.
      def decoder = nil
    end
  end
end
