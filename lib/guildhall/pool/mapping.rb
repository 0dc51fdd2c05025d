# frozen_string_literal: true

module Guildhall
  class Pool
    # Maps and reduces an Array or another Enumerable. Wherever a task goes, a block can replace it. Each of these
    # takes the options of {Pool#dispatch}, and `timeout:` and `progress:`; other Enumerables are streamed, with the options of
    # {Streaming#each}.
    module Mapping
      # @param options [Hash] see {Pool#dispatch}, and
      # @option options [Numeric] timeout seconds for all of it; then payloads that had not begun are cancelled
      # @option options [true, String, #call] progress see {Streaming#each}
      # @return [Array] values in order, frozen
      # @raise [TimeoutError]
      # @raise the first payload's failure, once all are done; of what is streamed, when it comes
      def map(payloads, task = nil, **options, &block)
        task = task_of(task, block, options)
        list = list_of(payloads, options) or return each(payloads, task, **options).to_a.freeze
        whole(list, task, options, true)
      end

      # As {#map}, with Failures, and DROPPED, in their places.
      # @return [Array] frozen
      def results(payloads, task = nil, **options, &block)
        task = task_of(task, block, options)
        list = list_of(payloads, options) or return each_result(payloads, task, **options).map { |outcome, _| outcome }.freeze
        whole(list, task, options, false)
      end

      # {#map} without what is nil or false.
      # @return [Array] frozen
      def filter_map(payloads, task = nil, **options, &block)
        map(payloads, task, **options, &block).select(&:itself).freeze
      end

      # As {#map}; the task gets `(payload, index)`.
      # @param options [Hash] as for {#map}, without `metadata` and `records`
      # @return [Array] frozen
      def map_with_index(payloads, task = nil, **options, &block)
        Options.check!(options, Options::MAP_WITH_INDEX)
        list = Feed.array(payloads)
        map(list, task, metadata: (0...list.size).to_a, **options, &block)
      end

      # Combines all payloads: workers make partial results of runs of payloads, which are combined here, in order. So
      # the operation has to be associative, and `initial`, with which each run begins, has to be neutral: 0 for a sum.
      #
      #     pool.reduce(numbers, :+)
      #     pool.reduce(lines, Hash.new(0), combine: MERGE) { |counts, line| counts.merge(line => counts[line] + 1) }
      #
      # @param initial [Object] a copy of it begins each run; left out: the run's first payload
      # @param operation [Symbol, #call] takes `(memo, payload)`
      # @param options [Hash] see {Streaming#each}; `chunk:` is the length of a run, and
      # @option options [Symbol, #call] combine takes two partial results; the operation where left out, which needs to be a Symbol
      #   then, or go without an initial value
      # @return [Object] nil for no payloads and no `initial`
      def reduce(payloads, *initial, **options, &block)
        Options.check!(options, Options::REDUCE)
        limit = Clock.deadline(options[:timeout])
        reduction = Reduction.of(initial, block, options[:combine])
        payloads = Feed.in_memory(payloads) || payloads
        chunk = options[:chunk] || Reduction.chunk(payloads, settings.workers)
        progress = Progress.of(options[:progress], payloads.is_a?(Array) ? payloads.size : nil)
        Reduction.numbered(chunk) do
          partials = partials(payloads, chunk, reduction, progress, options.except(:combine, :chunk, :progress))
          Clock.within(limit) { return reduction.combine(partials, options[:combine]) }
        end
        raise TimeoutError, "not combined after #{options[:timeout]} s"
      ensure
        progress&.finish
      end
      alias inject reduce

      private

      # @return [Enumerable] the partial results of runs of payloads
      def partials(payloads, chunk, reduction, progress, options)
        runs = Reduction.runs(payloads, chunk)
        runs, options[:progress] = Reduction.counted(progress, runs, chunk) if progress
        runs.is_a?(Array) ? map(runs, reduction, **options.except(:ahead)) : each(runs, reduction, **options, chunk: 1)
      end

      def list_of(payloads, options)
        options[:metadata] ? Feed.array(payloads) : Feed.in_memory(payloads)
      end

      def task_of(task, block, options = NO_OPTIONS)
        raise Guildhall::ArgumentError, "a task or a block, not both" if task && block
        return task || raise(Guildhall::ArgumentError, "a task is needed: an object with `call`, or a block") unless block

        Destructuring.needed?(block, options) ? Destructuring.new(Shareable.callable!(block, "block")) : block
      end

      # A block with two parameters, for payloads that are pairs: as Hash#map takes it. Without this its second one would be
      # the metadata.
      class Destructuring
        def self.needed?(block, options)
          !block.lambda? && !options[:metadata] && !options[:records] && block.arity.abs > 1
        end

        def initialize(block)
          @block = block
          freeze
        end

        def call(payload)
          @block.call(payload)
        end
      end
      private_constant :Destructuring

      # @param raising [Boolean] values are wanted: the first failure is raised, and what was dropped is left out
      def whole(list, task, options, raising)
        made = run_inline(list, task, raising) if options.empty?
        return made if made

        Options.check!(options, Options::MAP)
        dispatch, others = options.empty? ? [options, options] : Options.split(options)
        read(take_in(true, list, task, **dispatch), raising, **others)
      end

      # Nobody else has the future: what interrupts this thread cancels payloads that had not begun.
      def read(future, raising, timeout: nil, progress: nil)
        await(future, timeout, Progress.of(progress, future.size)) if timeout || progress
        outcomes = future.results
        raising ? Pool.values(outcomes) : outcomes
      ensure
        future.cancel unless outcomes
      end

      SHOW_EVERY_SECONDS = 0.1
      NO_OPTIONS = {}.freeze
      private_constant :SHOW_EVERY_SECONDS, :NO_OPTIONS

      # Interrupts a payload that runs in this thread when the time is up.
      def await(future, timeout, progress)
        Clock.within(Clock.deadline(timeout)) { progress ? show(future, progress) : future.wait }
        return if future.ready?

        raise TimeoutError, "#{future.done} of #{future.size} payloads are done after #{timeout} s; " \
                            "payloads that had not begun are cancelled"
      ensure
        progress&.finish
      end

      def show(future, progress)
        until future.wait(timeout: SHOW_EVERY_SECONDS)
          progress.reach(future.done)
        end
        progress.reach(future.done)
      end
    end
  end
end
