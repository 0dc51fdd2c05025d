# frozen_string_literal: true

module Guildhall
  class Pool
    # The task behind {Mapping#reduce}: makes one partial result of a run of payloads. Frozen and shareable.
    # @api private
    class Reduction
      # An error that knows the place of its payload in a run; a Failure keeps it among its details.
      module Positioned
        attr_accessor :guildhall_position
      end
      private_constant :Positioned

      NONE = Object.new.freeze
      MAX_RUN_PAYLOADS = 10_000
      RUNS_PER_WORKER = 4
      private_constant :NONE, :MAX_RUN_PAYLOADS, :RUNS_PER_WORKER

      # @param arguments [Array] `[]`, `[operation]`, `[initial]` or `[initial, operation]`, as Enumerable#reduce takes them
      def self.of(arguments, block, combine)
        operation = block || arguments.pop
        unless operation.is_a?(Symbol) || operation.respond_to?(:call)
          raise Guildhall::ArgumentError, "reduce needs an operation: a block, a Symbol or an object with `call`"
        end
        raise Guildhall::ArgumentError, "reduce takes an initial value and an operation" if arguments.size > 1

        # The operation takes payloads. Given a partial result in place of one, it might return nonsense without an error.
        unless arguments.empty? || operation.is_a?(Symbol) || combine
          raise Guildhall::ArgumentError, "reduce with an initial value needs combine:, which takes two partial results of runs of " \
                                          "payloads; for a sum: combine: :+"
        end
        new(operation, arguments.empty? ? NONE : arguments.first)
      end

      # One thread combines the partial results. With as many runs as each run has payloads, it has the least to do.
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

      # Yields, and has an error that names a run name payloads instead.
      def self.numbered(chunk)
        yield
      rescue PayloadError => error
        first = error.payload_index * chunk
        position = error.instance_variable_get(:@guildhall_position)
        error.instance_variable_set(:@guildhall_payload_index, first + (position || 0))
        error.instance_variable_set(:@guildhall_payloads, "one of the payloads #{first} to #{first + chunk - 1}") unless position
        raise
      end

      # @return [Array(Enumerable, #call)] the runs, and what to call with the number of those that are done
      def self.counted(progress, runs, chunk)
        read = 0
        runs = runs.map { |run| run.tap { read += run.size } } # a lazy one before any of it is done
        [runs, ->(done, _) { progress.reach([done * chunk, read].min) }]
      end

      def self.frozen_text(payload)
        payload.is_a?(String) && !payload.frozen? ? payload.dup.freeze : payload
      end
      private_class_method :frozen_text

      def initialize(operation, initial)
        @initial = NONE.equal?(initial) ? NONE : copy(initial)
        @operation = operation.is_a?(Symbol) ? operation : Shareable.callable!(operation, "operation")
        freeze
      end

      # In a worker: the partial result of a run.
      def call(payloads)
        fold(payloads, NONE.equal?(@initial) ? NONE : @initial.dup, @operation)
      end

      def combine(partials, combine)
        operation = combine || @operation
        memo = @initial
        partials.each_with_index do |partial, index|
          memo = changeable(memo) if index == 1
          memo = index.zero? ? partial : fold([partial], memo, operation)
        end
        memo unless NONE.equal?(memo)
      end

      private

      def copy(initial)
        Ractor.make_shareable(initial, copy: true)
      rescue StandardError => error # each kind of object has its own way to say no
        raise Guildhall::ArgumentError, "reduce: the initial value (#{Shareable.article(initial.class)}) cannot be copied for each run: " \
                                        "#{error.message}; use plain data, a Hash without a default block"
      end

      # Partial results are frozen, and an operation may change its memo, which was a copy of the initial value so far.
      def changeable(partial)
        !NONE.equal?(@initial) && partial.instance_of?(@initial.class) ? partial.dup : partial
      end

      def fold(payloads, memo, operation)
        chosen = payloads.size
        memo, *payloads = payloads if NONE.equal?(memo)
        return payloads.inject(memo, operation) if operation.is_a?(Symbol)

        called(payloads, memo, operation, chosen - payloads.size)
      end

      # Says in an error which payload of the run it was.
      def called(payloads, memo, operation, position)
        payloads.inject(memo) do |left, right|
          position += 1
          operation.call(left, right)
        end
      rescue StandardError => error
        error.extend(Positioned).guildhall_position = position - 1 unless error.frozen?
        raise
      end
    end
  end
end
