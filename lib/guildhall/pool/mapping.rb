# frozen_string_literal: true

require_relative "stream"
require_relative "reduction"

module Guildhall
  class Pool
    # Maps, reduces and streams an Array or another Enumerable. Wherever a task goes, a block can replace it. Each method takes the options
    # of {Pool#dispatch}, and `timeout:` and `progress:`.
    #
    # Inputs other than an Array are streamed: a thread of its own reads them, and a few batches are with the workers while earlier outcomes
    # are read, each as soon as it is there. So memory is bounded, and a slow input delays no result. However the block is left, by
    # `break` or an exception, payloads that had not begun are cancelled.
    #
    # A module, because the class has `map` and `results` in C (inline_run.c): the short way, which comes here with `super` where it ends.
    module Mapping
      # @param options [Hash] see {Pool#dispatch}, and
      # @option options [Numeric] timeout seconds for all of it; then payloads that had not begun are cancelled
      # @option options [true, String, #call] progress see {#each}
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

      # Values at paths of each payload, read where they lie: a row for each, in order.
      #
      #     pool.pluck(payloads, Guildhall::JSON, "id", "customer.email") # => [[7, "a@b"], …]
      #     pool.pluck(payloads, Guildhall::JSON, Guildhall::Columns.new(id: "id", email: "customer.email"))
      #
      # @param codec [Codec] of any kind; JSON, MessagePack and Avro are read without objects for what is not asked for
      # @param paths [Array<String, Array, JSON::Path>, Array(Columns)] see {Columns}
      # @param options [Hash] as for {#map}
      # @return [Array] frozen, as are its rows
      # @raise as {#map}
      # @raise [Guildhall::ArgumentError] for a path that is not understood, or a Symbol: payloads alone have no metadata
      def pluck(payloads, codec, *paths, **options)
        map(payloads, Plucking.of(codec, paths), **options)
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
        list = ChunkReader.array(payloads)
        map(list, task, metadata: (0...list.size).to_a, **options, &block)
      end

      # Calls the block with each value, in order. Where no task is given, the block is the task, and values are not kept.
      #
      #     pool.each(File.foreach("events.ndjson"), Guildhall::JSON) { |event| puts event["id"] }
      #     pool.each(paths) { |path| Thumbnail.write(path) }
      #
      # @param options [Hash] as {Pool#dispatch}, without `metadata:`, and
      # @option options [Integer] chunk payloads a batch at most; 500
      # @option options [Boolean] ordered false: each value as soon as it is there
      # @option options [Numeric] timeout seconds for all of it
      # @option options [true, String, #call] progress a bar on the terminal (gem ruby-progressbar), with a title, or
      #   called with `(done, total)`
      # @raise the first failure, when it comes
      def each(payloads, task = nil, **options, &block)
        raise Guildhall::ArgumentError, "each needs a task or a block" unless task || block
        return enum_for(:each, payloads, task, **options) unless block

        given = task
        stream(payloads, task || task_of(nil, block, options), options) do |outcome, _|
          outcome.raise_numbered! if Failure === outcome
          yield outcome if given && !DROPPED.equal?(outcome)
        end
      end

      # As {#each}, with Failures, and DROPPED, in their places.
      # @yieldparam index [Integer] the payload's place in the input
      def each_result(payloads, task, **options, &block)
        block ? stream(payloads, task, options, &block) : enum_for(:each_result, payloads, task, **options)
      end

      # As {#each}, lazily: `pool.lazy(io) { |line| … }.reject(&:nil?).first(3)`.
      def lazy(payloads, task = nil, **options, &block)
        Options.check!(options, Options::STREAM)
        task = task_of(task, block, options)
        Enumerator.new { |values| each(payloads, task, **options) { |value| values << value } }.lazy
      end

      # Combines all payloads: workers make partial results of runs of payloads, which are combined here, in order. So
      # the operation has to be associative, and `initial`, with which each run begins, has to be neutral: 0 for a sum.
      #
      #     pool.reduce(numbers, :+)
      #     pool.reduce(lines, Hash.new(0), combine: MERGE) { |counts, line| counts.merge(line => counts[line] + 1) }
      #
      # @param initial [Object] a copy of it begins each run; left out: the run's first payload
      # @param operation [Symbol, #call] takes `(memo, payload)`
      # @param options [Hash] see {#each}; `chunk:` is the length of a run, and
      # @option options [Symbol, #call] combine takes two partial results; the operation where left out, which needs to be a Symbol
      #   then, or go without an initial value
      # @return [Object] nil for no payloads and no `initial`
      def reduce(payloads, *initial, **options, &block)
        Options.check!(options, Options::REDUCE)
        limit = Clock.deadline(options[:timeout])
        reduction = Reduction.of(initial, block, options[:combine])
        payloads = ChunkReader.in_memory(payloads) || payloads
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

      # The task of {#pluck}.
      # @api private
      Plucking = Data.define(:columns, :codec) do
        def self.of(codec, paths)
          require_relative "../columns"
          columns = paths.first.is_a?(Columns) && paths.size == 1 ? paths.first : Columns.new(*paths)
          raise Guildhall::ArgumentError, "payloads have no #{columns.metadata.first.inspect}" if columns.metadata.any?

          new(columns, codec.respond_to?(:lazy) ? codec.lazy : codec)
        end

        def call(bytes) = columns.decode(codec, bytes)
      end
      private_constant :Plucking

      private

      def stream(payloads, task, options)
        Options.check!(options, Options::STREAM)
        progress = Progress.of(options[:progress], payloads.is_a?(Array) ? payloads.size : nil)
        Stream.new(self, payloads, task, **options.except(:progress)).each do |outcome, index|
          yield outcome, index
          progress&.add
        end
        self
      ensure
        progress&.finish
      end

      # @return [Enumerable] the partial results of runs of payloads
      def partials(payloads, chunk, reduction, progress, options)
        runs = Reduction.runs(payloads, chunk)
        runs, options[:progress] = Reduction.counted(progress, runs, chunk) if progress
        runs.is_a?(Array) ? map(runs, reduction, **options) : each(runs, reduction, **options, chunk: 1)
      end

      def list_of(payloads, options)
        options[:metadata] ? ChunkReader.array(payloads) : ChunkReader.in_memory(payloads)
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
        read(submit(true, list, task, **dispatch), raising, **others)
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
