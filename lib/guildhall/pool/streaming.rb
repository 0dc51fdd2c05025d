# frozen_string_literal: true

require_relative "stream"

module Guildhall
  class Pool
    # For inputs of any length: an IO, an Enumerator, an Array. A few batches are with the workers while earlier outcomes are
    # read, each as soon as it is there, also where the input is slow. Memory is bounded by `chunk` × `ahead` payloads. However
    # the block is left, by `break` or an exception, payloads that had not begun are cancelled.
    #
    # A separate thread reads an input that is not an Array.
    module Streaming
      # Calls the block with each value, in order. Where no task is given, the block is the task, and values are not kept.
      #
      #     pool.each(File.foreach("events.ndjson"), Guildhall::JSON) { |event| puts event["id"] }
      #     pool.each(paths) { |path| Thumbnail.write(path) }
      #
      # @param options [Hash] as {Pool#dispatch}, without `metadata:`, and
      # @option options [Integer] chunk payloads a batch at most; 500
      # @option options [Integer] ahead batches at once; two a worker
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

      # What {#each} gives, lazily: `pool.lazy(io) { |line| … }.reject(&:nil?).first(3)`.
      def lazy(payloads, task = nil, **options, &block)
        Options.check!(options, Options::STREAM)
        task = task_of(task, block, options)
        Enumerator.new { |values| each(payloads, task, **options) { |value| values << value } }.lazy
      end

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
    end
  end
end
