# frozen_string_literal: true

module Guildhall
  class Pipeline
    private_constant :Meter

    # A pipeline that counts what becomes of its values, stage by stage, in all Ractors together.
    class Measured < Pipeline
      # @param stages [Array<#call>]
      # @param names [Array<Symbol>, nil]
      # @param meter [Meter, nil] nil: a new one
      # @param first [Integer] which of the meter's counters belongs to the first stage
      def initialize(stages, names: nil, meter: nil, first: 0)
        @meter = meter || Meter.new(stages.sum { |stage| Stage.all(stage).size })
        @first = first
        super(stages, names:)
      end

      # (see Pipeline#call)
      def call(payload, metadata = nil)
        value = payload
        index = 0
        since = @meter.now
        while index < @stages.size
          value = @stages[index].call(value, metadata)
          if DROPPED.equal?(value)
            @meter.add(@first + index, Batch::DROPS, 1, since)
            return DROPPED
          end
          since = @meter.add(@first + index, Batch::PASSED, 1, since)
          index += 1
        end
        value
      rescue Exception => error # rubocop:disable Lint/RescueException -- only marked and counted, then raised on
        @meter.add(@first + index, Batch::RAISED, 1, since)
        Pipeline.mark(error, @names[index])
        raise
      end

      # (see Pipeline#call_batch)
      def call_batch(payloads, metadata = nil, &)
        Batch.new(payloads, metadata).run(@stages, @names, @meter, first: @first, &)
      end

      # @return [Measured] itself
      def measured = self

      # What has become of the values so far; of a {Pipeline#rest} the counters are the whole pipeline's.
      # @return [Hash{Symbol=>Hash}] by stage: `passed`, `dropped`, `failed` (values) and `seconds` (spent, over all
      #   Ractors)
      def stats
        @names.each_with_index.to_h do |name, index|
          passed, dropped, failed, nanoseconds = @meter.read(@first + index)
          [name, {passed:, dropped:, failed:, seconds: nanoseconds / 1e9}]
        end
      end

      # (see Pipeline#rest)
      def rest
        return self unless decoder

        @stages.size > 1 ? Measured.new(@stages.drop(1), names: @names.drop(1), meter: @meter, first: @first + 1) : nil
      end
    end
  end
end
