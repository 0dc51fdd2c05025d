# frozen_string_literal: true

module Guildhall
  class Pool
    # What a pool has learned, and so decides: for each task, and each size of payload and batch that it has seen, what a
    # payload costs in the caller and on the workers, all hand-overs included.
    class Report
      # @!attribute [r] task
      #   @return [String]
      # @!attribute [r] bytes
      #   @return [Integer] about so many a payload; 0: not Strings
      # @!attribute [r] payloads
      #   @return [Integer] about so many a batch
      # @!attribute [r] inline_seconds
      #   @return [Float, nil] a payload; nil: not tried
      # @!attribute [r] parallel_seconds
      #   @return [Float, nil] a payload, with as many hands as were best; nil: not tried
      # @!attribute [r] hands
      #   @return [Integer, nil] workers, and the caller where it helps, that were best: 2, 4, 8 …, or as many as there are
      Row = Data.define(:task, :bytes, :payloads, :inline_seconds, :parallel_seconds, :hands) do
        # @return [Float, nil] how many times faster the workers are; nil: not known
        def gain
          inline_seconds / parallel_seconds if inline_seconds && parallel_seconds&.positive?
        end
      end

      # @return [Array<Row>]
      attr_reader :rows

      # @return [Float] seconds from a dispatch to a worker's first payload
      attr_reader :handover_seconds

      def initialize(profiles, handover_seconds, workers)
        @handover_seconds = handover_seconds
        @workers = workers
        @rows = profiles.flat_map do |profile|
          name = Report.name_of(profile.task)
          profile.measurements.map { |numbers| Row.new(name, *numbers) }
        end.freeze
      end

      # @return [String] a short name of a task
      def self.name_of(task)
        return task.name || task.inspect if task.is_a?(Module)
        return "lambda at #{task.source_location&.join(":")}" if task.is_a?(Proc)

        task.inspect.size <= 80 ? task.inspect : task.class.to_s
      end

      # @return [String] a table for people
      def to_s
        head = format("%d workers, %.0f µs a hand-over", @workers, @handover_seconds * 1e6)
        columns = "task                                        ≈ bytes   ≈ batch    inline µs  parallel µs   gain  hands"
        [head, columns, *@rows.map { |row| line(row) }].join("\n")
      end

      private

      def line(row)
        format("%-40s %10d %9d %12s %12s %6s %6s", row.task[0, 40], row.bytes, row.payloads, micro(row.inline_seconds),
          micro(row.parallel_seconds), row.gain&.round(2) || "–", row.hands || "–")
      end

      def micro(seconds)
        seconds ? format("%.2f", seconds * 1e6) : "–"
      end
    end
  end
end
