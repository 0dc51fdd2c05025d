# frozen_string_literal: true

module Guildhall
  class Pool
    # For inputs that are longer than a batch should be: slices of them are in flight while earlier ones are read.
    module Streaming
      # Calls the block with each outcome, in order. Never holds more than `ahead` batches.
      # @param payloads [Enumerable] of any length
      # @param task [#call]
      # @param size [Integer] payloads a batch
      # @param ahead [Integer] batches that are dispatched before the first of them is read
      # @param options [Hash] see {Pool#dispatch}
      # @yieldparam outcome [Object, Failure]
      # @return [self, Enumerator]
      def each(payloads, task, size: 500, ahead: 4, **options, &block)
        return enum_for(:each, payloads, task, size:, ahead:, **options) unless block

        each_slice(payloads, task, size:, ahead:, **options) { |outcomes| outcomes.each(&block) }
      end

      # As {#each}, a batch of outcomes at a time.
      # @yieldparam outcomes [Array] frozen
      # @return [self, Enumerator]
      def each_slice(payloads, task, size: 500, ahead: 4, **options)
        return enum_for(:each_slice, payloads, task, size:, ahead:, **options) unless block_given?

        flying = []
        payloads.each_slice(size) do |batch|
          flying << dispatch(batch, task, **options)
          yield flying.shift.results if flying.size >= ahead
        end
        yield flying.shift.results until flying.empty?
        self
      end
    end
  end
end
