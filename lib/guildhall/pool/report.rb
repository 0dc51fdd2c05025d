# frozen_string_literal: true

module Guildhall
  class Pool
    # A pool's measurements of each code that it has run, and what it decides by them: for each size of payload what one
    # costs, and for each size of batch that took longer than a hand-over how fast it is in the caller and with workers.
    class Report
      # @!attribute [r] bytes
      #   @return [Integer] bytes per payload, about; 0: not Strings
      # @!attribute [r] payloads
      #   @return [Integer, nil] payloads per batch, about; nil: this row is about a single payload
      # @!attribute [r] inline_seconds
      #   @return [Float, nil] a payload, without workers; nil: not measured
      # @!attribute [r] parallel_seconds
      #   @return [Float, nil] a payload, with them; nil: not measured
      # @!attribute [r] parallel
      #   @return [Boolean, nil] whether such batches are given to workers now; nil: that depends on how many payloads there are
      Row = Data.define(:task, :bytes, :payloads, :inline_seconds, :parallel_seconds, :parallel) do
        # @return [Float, nil] how many times faster it is with workers; nil: not known
        def gain
          inline_seconds / parallel_seconds if inline_seconds && parallel_seconds&.positive?
        end
      end

      attr_reader :rows

      # @return [Float] seconds from a dispatch to a worker's first payload
      attr_reader :handover_seconds

      # @return [Hash{Decision=>Integer}] how often each was made
      attr_reader :decisions

      def initialize(queue, names, workers)
        @handover_seconds = queue.handover
        @workers = workers
        @decisions = Decision::ALL.zip(queue.decisions).to_h.select { |_, count| count.positive? }.freeze
        names = distinct(names)
        @rows = queue.costs.filter_map { |numbers| row(names, numbers) }.sort_by { |row| [row.task, row.bytes, row.payloads.to_i] }.freeze
      end

      # @return [String] a table for people
      def to_s
        none = " (#{NativeThreads::REASON})" if NativeThreads::MAIN_RACTOR_ONLY
        head = format("%d workers%s, %.0f µs a hand-over", @workers, none, @handover_seconds * 1e6)
        made = @decisions.map { |decision, count| "#{decision} #{count}" }.join(", ")
        width = @rows.map { |row| row.task.size }.push(40).max
        columns = "#{"task".ljust(width)}   ≈ bytes   ≈ batch    inline µs  parallel µs   gain  now"
        [head, *(made unless made.empty?), columns, *@rows.map { |row| line(row, width) }].join("\n")
      end

      private

      # Pipelines of the same stages have one name: they are numbered, in the order in which the pool got them first.
      def distinct(names)
        names.each_with_object({}) do |(code, name), found|
          same = names.count { |other, text| text == name && other < code }
          found[code] = same.zero? ? name : "#{name} (#{same + 1})"
        end
      end

      def row(names, numbers)
        code, bytes, payloads, cost, inline, parallel, spread = numbers
        name = names[code]
        return unless name && (cost || inline || parallel)

        payloads.zero? ? Row.new(name, bytes, nil, cost, nil, nil) : Row.new(name, bytes, payloads, inline, parallel, spread)
      end

      def line(row, width)
        way = row.parallel.nil? ? "–" : (row.parallel ? "parallel" : "inline")
        format("%-#{width}s %9d %9s %12s %12s %6s  %s", row.task, row.bytes, row.payloads || "one", micro(row.inline_seconds),
          micro(row.parallel_seconds), gain(row.gain), way)
      end

      # More than the workers and the caller together can gain is noise of the measurement.
      def gain(number)
        return "–" unless number

        number > @workers + 1 ? "> #{@workers + 1}" : number.round(2)
      end

      def micro(seconds)
        seconds ? format("%.2f", seconds * 1e6) : "–"
      end
    end
  end
end
