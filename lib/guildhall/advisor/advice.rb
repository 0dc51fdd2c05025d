# frozen_string_literal: true

require "guildhall/text_table"

module Guildhall
  class Advisor
    # The measurements, and the advice that follows from them.
    class Advice
      # For payloads of one class of sizes.
      #
      # @!attribute [r] bytes
      #   @return [Integer] the median
      # @!attribute [r] payloads
      #   @return [Integer] how many of the samples
      # @!attribute [r] seconds
      #   @return [Float] one costs in a loop
      # @!attribute [r] from
      #   @return [Integer, nil] the smallest batch that pays; nil: none does
      # @!attribute [r] gain
      #   @return [Float] the highest
      Line = Data.define(:bytes, :payloads, :seconds, :from, :gain)

      REASONS = {
        io_bound: "The task waits most of its time (%<busy>d %% of it is CPU): workers do not pay. Use threads or fibers; " \
                  "in Kafka, more concurrency or virtual partitions.",
        mutates: "The task changes its payload, and payloads are frozen: %<error>s. " \
                 "Let it work on a copy (`payload.dup`), and measure again.",
        fails: "The task raises for these payloads: %<error>s. Measure payloads that it can work on.",
        too_small: "Workers do not pay for these payloads: one costs %<micro>.1f µs, and a hand-over costs more than they would save. " \
                   "Leave them in the calling thread, which is what a pool does by itself.",
        uncertain: "Uncertain: measure again, when the machine is quiet. %<way>s was %<gain>.1f × as fast as a loop, but %<lowest>.1f to " \
                   "%<highest>.1f in %<rounds>d rounds."
      }.freeze
      CROWDED = " Other processes used the CPU meanwhile: measure again when the machine is quiet."
      FEW = 100 # payloads: fewer say little about those to come
      private_constant :REASONS, :CROWDED, :FEW

      attr_reader :variants, :payloads, :cost, :cells
      # @return [Cell, nil] what to do; nil: leave it as it is
      attr_reader :best
      # @return [Float, nil] seconds from a dispatch to a worker's first payload
      attr_reader :handover
      # @return [Array<Line>] this machine's decision table
      attr_reader :table
      # @return [Symbol, nil] :io_bound, :mutates, :fails, :too_small: why it does not pay; :uncertain: in some rounds it did not
      attr_reader :reason

      # @param uncertain [Cell, nil] what paid in most rounds, where nothing did in all
      # @param sieve [Sieve, nil] what it left out is said
      def initialize(variants:, payloads:, cost:, cells: [], best: nil, uncertain: nil, handover: nil, table: [], reason: nil, sieve: nil)
        @sieve = sieve
        @uncertain = uncertain
        @variants = variants
        @payloads = payloads
        @cost = cost
        @cells = cells.freeze
        @best = best
        @handover = handover
        @table = table.freeze
        @reason = reason || ((uncertain ? :uncertain : :too_small) unless best)
        freeze
      end

      def pays? = !@best.nil?

      # @return [Boolean] whether there were too few payloads to rely on it
      def too_few_payloads? = @payloads.size < FEW

      # @return [#call] the task as it is advised
      def task = @variants.fetch(@best ? @best.variant : :given)

      # @return [Integer, nil] workers pay from batches of this size on; nil: they do not
      def from
        return if @best.nil? || @best.workers.zero?

        Choice.first(@cells.select { |cell| [cell.variant, cell.workers] == [@best.variant, @best.workers] })&.batch
      end

      # @return [String] in a sentence or two
      def verdict = "#{@best ? promise : refusal}#{CROWDED if @cost.crowded?}"

      # @return [String] for people
      def to_s
        [verdict, "", *facts, *grid, *decisions].join("\n")
      end

      # @return [Hash{String=>Object}] for JSON
      def to_h
        {"pays" => pays?, "reason" => @reason&.name, **(@best ? chosen : {}), "payloads" => @payloads.size,
         "too_few_payloads" => too_few_payloads?, "payloads_left_out" => @sieve&.count.to_i, "payloads_not_tried" => @sieve&.untried.to_i,
         "bytes" => @payloads.quantiles, "seconds_per_payload" => @cost.seconds, "objects_per_payload" => @cost.objects.round(1),
         "handover_seconds" => @handover,
         "table" => @table.map { |line| line.to_h.transform_keys(&:to_s) }, "cells" => @cells.map { |cell| row(cell) }}
      end

      # @return [Array<Array(String, String)>] what was measured, each with its name
      def facts_table
        [["payloads", size], *left_out, *@payloads.quantiles.map { |name, bytes| [name, "#{bytes} bytes"] },
         *cost_rows, *([["hand-over to a worker", format("%.0f µs", @handover * 1e6)]] if @handover)]
      end

      # @return [Array<Array>] rows of gains by batch size, the headings first; a column for each way
      def gains_table
        ways = @cells.map { |cell| [cell.variant, cell.workers] }.uniq
        sizes = @cells.map(&:batch).uniq.sort
        [["batch", *ways.map { |way| name_of(*way) }],
         *sizes.map do |size|
           [size, *ways.map do |way|
             @cells.find do |cell|
               [cell.variant, cell.workers, cell.batch] == [*way, size]
             end&.gain&.round(2)
           end]
         end]
      end

      # @return [Array<Array(String, String, String, String)>] the headings first
      def decision_table
        [["payloads of", "cost", "workers pay from batches of", "highest gain"],
         *@table.map do |line|
           ["≈ #{line.bytes} bytes", format("%.1f µs", line.seconds * 1e6), line.from || "never", format("%.1f ×", line.gain)]
         end]
      end

      private

      def size = "#{@payloads.size}#{" (too few to rely on: measure some hundred real ones)" if too_few_payloads?}"

      # Of a task that raises, nothing was measured.
      def cost_rows
        return [] if @cost.error

        [["cost per payload", format("%.1f µs, %.0f %% of it CPU", @cost.seconds * 1e6, busy)],
         ["garbage per payload", format("%.0f objects", @cost.objects)]]
      end

      # With the payloads that were measured, as many as there were.
      def left_out
        [*([["left out", "#{@sieve.count}, for which the task raises (#{@sieve.error})"]] if @sieve&.count.to_i.positive?),
         *([["not tried", "#{@sieve.untried}: one second was too short for more"]] if @sieve&.untried.to_i.positive?)]
      end

      def promise
        format("It pays: %s is %.1f × as fast as a loop (%.1f to %.1f in %d rounds).%s", way(@best), @best.gain, *@best.spread,
          @best.gains.size, (" Workers pay from batches of #{from} on." if from))
      end

      def way(cell)
        lazy = "lazy decoding, " if cell.variant == :lazy
        return "#{lazy}in the calling thread," if cell.workers.zero?

        "#{lazy}on #{cell.workers} worker#{"s" if cell.workers > 1}, in batches of #{cell.batch},"
      end

      def chosen = {**row(@best), "from" => from, "spread" => @best.spread.map { |gain| gain.round(2) }}
      def row(cell) = {"decoding" => cell.variant.name, "workers" => cell.workers, "batch" => cell.batch, "gain" => cell.gain.round(2)}

      def busy = @cost.seconds.zero? ? 0 : 100 * @cost.cpu_seconds / @cost.seconds

      def refusal
        lowest, highest = @uncertain&.spread
        format(REASONS.fetch(@reason), busy:, error: @cost.error, micro: @cost.seconds * 1e6, way: @uncertain && way(@uncertain).capitalize,
          gain: @uncertain&.gain, lowest:, highest:, rounds: @uncertain&.gains&.size)
      end

      def name_of(variant, workers)
        [("lazy" if variant == :lazy), workers.zero? ? "inline" : "#{workers} worker#{"s" if workers > 1}"].compact.join(", ")
      end

      def facts = TextTable.lines(facts_table).map { |line| "  #{line}" }

      def grid
        @cells.empty? ? [] : ["", "  times as fast as a loop:", *TextTable.lines(gains_table).map { |line| "  #{line}" }]
      end

      def decisions
        @table.empty? ? [] : ["", *TextTable.lines(decision_table).map { |line| "  #{line}" }]
      end
    end
  end
end
