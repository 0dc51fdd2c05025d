# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Many payloads on their way through a pipeline, a stage at a time.
    class Batch
      PASSED = 0
      DROPS = 1
      RAISED = 2

      # @param metadata [Array, nil] as long as payloads
      def initialize(payloads, metadata)
        raise Guildhall::ArgumentError, "as much metadata as payloads" if metadata && metadata.size != payloads.size

        @values = payloads.dup
        @metadata = metadata
        @left = payloads.each_index.to_a # indexes of those that go on
      end

      # @yield see {Pipeline#call_batch}
      def run(stages, names, meter = nil, &on_error)
        stages.each_with_index do |stage, index|
          break if @left.empty?

          since = meter&.now
          counts = pass(stage, names[index], on_error)
          counts.each_with_index { |count, kind| since = meter.add(index, kind, count, since) if count.positive? } if meter
        end
        @values
      end

      private

      # @return [Array<Integer>] how many passed, were dropped, raised
      def pass(stage, name, on_error)
        before = @left
        raised = 0
        answers = at_once(stage)
        @left = before.each_with_index.filter_map do |index, place|
          answer = answers ? answers[place] : stage.call(@values[index], @metadata && @metadata[index])
          @values[index] = answer
          index unless DROPPED.equal?(answer)
        rescue Exception => error # rubocop:disable Lint/RescueException -- yielded to the caller, or raised again
          raised += 1
          Failure.mark(error, name)
          on_error ? @values[index] = on_error.call(error, index) : raise
          nil
        end
        [@left.size, before.size - @left.size - raised, raised]
      end

      # One call for all; when it raises, it is unknown for which of them, and each is called alone.
      def at_once(stage)
        stage.call_batch(@values.values_at(*@left), @metadata&.values_at(*@left))
      rescue StandardError
        nil
      end
    end
    private_constant :Batch
  end
end
