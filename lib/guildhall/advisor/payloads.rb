# frozen_string_literal: true

module Guildhall
  class Advisor
    # Samples, and what there is to say of their sizes.
    # @api private
    class Payloads
      SEED = 20_260_101
      QUANTILES = {"smallest" => 0, "median" => 0.5, "90 %" => 0.9, "99 %" => 0.99, "largest" => 1}.freeze
      ALIKE = 4 # times as large, and still one class
      private_constant :SEED, :ALIKE

      # @return [Array] frozen, in an order that is the same each time
      attr_reader :list

      def initialize(list)
        @list = list.map { |payload| Ractor.shareable?(payload) ? payload : Ractor.make_shareable(payload, copy: true) }
          .shuffle(random: Random.new(SEED)).freeze
        @sizes = @list.map { |payload| payload.is_a?(String) ? payload.bytesize : 0 }.sort.freeze
      end

      def size = @list.size

      # @return [Integer] bytes
      def median = @sizes[@sizes.size / 2]

      # @return [Hash{String=>Integer}] bytes
      def quantiles = QUANTILES.transform_values { |part| @sizes[((@sizes.size - 1) * part).round] }

      # @return [Array<Array(String, Integer)>] a range of sizes, and how many payloads have such a size
      def histogram(parts = 8)
        return [["#{@sizes.first} B", size]] if @sizes.first == @sizes.last

        step = ((@sizes.last - @sizes.first + 1) / parts.to_f).ceil
        counts = @sizes.map { |bytes| (bytes - @sizes.first) / step }.tally
        (0..counts.keys.max).map do |part|
          ["#{@sizes.first + (part * step)}–#{@sizes.first + ((part + 1) * step) - 1} B", counts.fetch(part, 0)]
        end
      end

      # @param count [Integer] of payloads in a batch
      # @param least [Integer] payloads in all batches together
      def batches(count, least)
        @list.cycle.each_slice(count).first((least / count.to_f).ceil).map(&:freeze)
      end

      # @return [Array<Payloads>] the small ones, the middle ones, the large ones; one class where all are alike
      def classes(most)
        return [self] if @sizes.last < ALIKE * [@sizes.first, 1].max || size < most * 3

        @list.sort_by do |payload|
          payload.is_a?(String) ? payload.bytesize : 0
        end.each_slice((size / most.to_f).ceil).map { |list| Payloads.new(list) }
      end
    end
  end
end
