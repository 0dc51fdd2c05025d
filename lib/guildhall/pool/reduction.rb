# frozen_string_literal: true

module Guildhall
  class Pool
    # The task behind {Mapping#reduce}: makes one partial result of a run of payloads. Frozen and shareable.
    class Reduction
      NONE = Object.new.freeze
      MAX_RUN_PAYLOADS = 10_000
      RUNS_PER_WORKER = 4
      private_constant :NONE, :MAX_RUN_PAYLOADS, :RUNS_PER_WORKER

      # @param arguments [Array] `[]`, `[operation]`, `[initial]` or `[initial, operation]`, as Enumerable#reduce takes them
      # @param block [Proc, nil] the operation
      # @raise [Guildhall::ArgumentError] when there is no operation, or two
      def self.of(arguments, block)
        operation = block || arguments.pop
        unless operation.is_a?(Symbol) || operation.respond_to?(:call)
          raise Guildhall::ArgumentError, "reduce needs an operation: a block, a Symbol or an object with `call`"
        end
        raise Guildhall::ArgumentError, "reduce takes an initial value and an operation" if arguments.size > 1

        new(operation, arguments.empty? ? NONE : arguments.first)
      end

      # What runs leave is combined in one thread: of few payloads, runs as many as each has payloads leave the least to it.
      # @return [Integer] how many payloads make a good run
      def self.chunk(payloads, workers)
        return MAX_RUN_PAYLOADS / 10 unless payloads.is_a?(Array)

        runs = Integer.sqrt(payloads.size).clamp(1, [workers, 1].max * RUNS_PER_WORKER)
        payloads.size.ceildiv(runs).clamp(1, MAX_RUN_PAYLOADS)
      end

      # @return [Enumerable] runs of payloads, which can cross Ractors if their payloads can
      def self.runs(payloads, chunk)
        runs = payloads.each_slice(chunk).lazy.map { |run| run.map { |payload| frozen_text(payload) }.freeze }
        payloads.is_a?(Array) ? runs.to_a : runs
      end

      def self.frozen_text(payload)
        payload.is_a?(String) && !payload.frozen? ? payload.dup.freeze : payload
      end
      private_class_method :frozen_text

      def initialize(operation, initial)
        @initial = NONE.equal?(initial) ? NONE : Ractor.make_shareable(initial, copy: true)
        @operation = operation.is_a?(Symbol) ? operation : Shareable.callable!(operation, "operation")
        freeze
      end

      # In a worker.
      # @return [Object] the partial result of a run
      def call(payloads)
        fold(payloads, NONE.equal?(@initial) ? NONE : @initial.dup, @operation)
      end

      # @param combine [Symbol, #call, nil] nil: the operation
      def combine(partials, combine)
        operation = combine || @operation
        memo = @initial
        partials.each_with_index do |partial, index|
          memo = begin_with(memo, operation) if index == 1
          memo = index.zero? ? partial : fold([partial], memo, operation)
        end
        memo unless NONE.equal?(memo)
      end

      private

      # Partial results are frozen, and the operation may change its memo.
      def begin_with(partial, operation)
        NONE.equal?(@initial) ? partial : fold([partial], @initial.dup, operation)
      end

      def fold(payloads, memo, operation)
        memo, *payloads = payloads if NONE.equal?(memo)
        return payloads.inject(memo, operation) if operation.is_a?(Symbol)

        payloads.inject(memo) { |left, right| operation.call(left, right) }
      end
    end
  end
end
