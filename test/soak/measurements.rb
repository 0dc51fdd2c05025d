# frozen_string_literal: true

require "guildhall/chart"
require_relative "workforce"

module Soaking
  # What a soak's processes use and how fast they are, over time: a table for programs and charts for people.
  class Measurements
    COLUMNS = %w[seconds sent confirmed handled dead waiting doubled p50_ms p99_ms max_ms members veteran_rss_mb veteran_threads veteran_descriptors
                 others_rss_mb others_threads others_descriptors].freeze
    CHARTS = {
      "memory" => ["resident memory, MB", {"the member that stays" => "veteran_rss_mb", "others, the most" => "others_rss_mb"}],
      "threads" => ["threads and descriptors", {"threads" => "veteran_threads", "descriptors" => "veteran_descriptors",
                                                "of others: threads" => "others_threads", "descriptors " => "others_descriptors"}],
      "latency_half" => ["from sent to handled, ms: half of the messages", {"half" => "p50_ms"}],
      "latency" => ["from sent to handled, ms: 99 of 100 messages", {"99 of 100" => "p99_ms"}],
      "waiting" => ["messages that wait", {"waiting" => "waiting"}]
    }.freeze
    POINTS = 60 # of a chart
    LABELS = 10
    private_constant :COLUMNS, :CHARTS, :POINTS, :LABELS

    def initialize(folder)
      @folder = folder
      @rows = []
      @csv = File.new(File.join(folder, "measurements.csv"), "w").tap { |csv| csv.sync = true }
      @csv.puts(COLUMNS.join(","))
    end

    # @param account [Hash{String=>Integer}] see {Ledger#to_h}
    # @param latencies [Array<Integer>] milliseconds, sorted
    # @param members [Hash{String=>Integer}] pids by name
    def take(seconds, account, latencies, members)
      used = members.filter_map { |name, pid| of_process(pid)&.then { |figures| [name, figures] } }.to_h
      others = used.except(Workforce::VETERAN).values.transpose.map(&:max)
      row = [seconds.round, *account.values_at("sent", "confirmed", "handled", "dead", "waiting", "doubled"),
             *[0.5, 0.99, 1].map { |share| latencies[(share * (latencies.size - 1)).round] if latencies.any? }, used.size,
             *(used[Workforce::VETERAN] || [nil] * 3), *(others.empty? ? [nil] * 3 : others)]
      @rows << row
      @csv.puts(row.join(","))
    end

    # @return [Array(Integer, Integer), nil] MB of the member that stays: the most in the second and in the last quarter of the time
    def memory
      values = @rows.filter_map { |row| row[COLUMNS.index("veteran_rss_mb")] }
      quarter = values.size / 4
      [values[quarter, quarter].max, values.last(quarter).max] if quarter.positive?
    end

    # Writes the charts; each point is the most of several measurements.
    def draw
      return if @rows.size < 2

      slices = @rows.each_slice([(@rows.size / POINTS.to_f).ceil, 1].max).to_a
      every = [slices.size / LABELS, 1].max
      steps = slices.each_with_index.map { |slice, index| (index % every).zero? ? (slice.first[0] / 60.0).round(1) : "" }
      CHARTS.each do |name, (title, series)|
        values = series.transform_values { |column| slices.map { |slice| slice.filter_map { |row| row[COLUMNS.index(column)] }.max } }
        File.write(File.join(@folder, "#{name}.svg"), Guildhall::Chart::Lines.new(steps, values, title:, below: "minutes").to_svg)
      end
    end

    private

    # @return [Array(Integer, Integer, Integer), nil] MB, threads and descriptors; nil: it has ended, or begins
    def of_process(pid)
      status = File.read("/proc/#{pid}/status")
      [status[/^VmRSS:\s+(\d+)/, 1].to_i / 1024, status[/^Threads:\s+(\d+)/, 1].to_i, Dir.children("/proc/#{pid}/fd").size]
    rescue SystemCallError
      nil
    end
  end
end
