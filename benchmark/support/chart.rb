# frozen_string_literal: true

require_relative "machine"

class Bench
  # docs/images/figures.svg, the picture of the README: how many times faster than what people use today, one bar per row.
  class Chart
    PATH = File.expand_path("../../docs/images/figures.svg", __dir__)
    # What people ask first: row => label.
    ROWS = {
      ["pool.documents 5 KB", "JSON.parse"] => "JSON on the pool, five fields read × JSON.parse",
      ["json.document.5 KB", "JSON.parse, json 3.1.0"] => "JSON in one thread, five fields read × JSON.parse",
      ["msgpack.frozen 5 KB", "make_shareable"] => "MessagePack, shareable × msgpack + make_shareable",
      ["kafka.document.5KB", "Karafka"] => "Kafka, JSON payloads × Karafka",
      ["kafka.stages.5KB", "Karafka doing the same"] => "Kafka, decode + check + select × Karafka",
      ["pool.hashes 5 KB", "JSON.parse"] => "JSON on the pool, whole Hashes × JSON.parse",
      ["pool.never_slower 0.7 KB × 1", "same codec inline"] => "one small payload on the pool × no pool"
    }.freeze
    ROW_PIXELS = 30
    LABEL_PIXELS = 380
    BARS_PIXELS = 430
    FONT = 'font-family="sans-serif" font-size="14"'

    # @param rows [Array<Hash>] as the scripts print them with --json
    # @param machine [String]
    def initialize(rows, machine: Machine.description)
      found = rows.to_h { |row| [row.values_at("row", "against"), row["ratio"]] }
      @bars = ROWS.filter_map { |key, label| [label, found[key]] if found[key] }
      @machine = machine
    end

    # @return [String, nil] where it is; nil: none of the rows was measured
    def write(path = PATH)
      return if @bars.empty?

      File.write(path, svg)
      path
    end

    # @return [String]
    def svg
      height = (@bars.size * ROW_PIXELS) + 50
      <<~SVG
        <svg xmlns="http://www.w3.org/2000/svg" width="880" height="#{height}" viewBox="0 0 880 #{height}" role="img">
        <rect width="880" height="#{height}" fill="#ffffff"/>
        <text x="10" y="20" #{FONT} font-weight="bold">Times as fast (1 = the same); #{@machine}</text>
        #{@bars.each_with_index.map { |(label, ratio), index| bar(label, ratio, 34 + (index * ROW_PIXELS)) }.join("\n")}
        <line x1="#{x(1)}" x2="#{x(1)}" y1="30" y2="#{height - 14}" stroke="#c0392b" stroke-dasharray="4"/>
        </svg>
      SVG
    end

    private

    def bar(label, ratio, top)
      %(<text x="#{LABEL_PIXELS - 8}" y="#{top + 16}" text-anchor="end" #{FONT}>#{label}</text>) +
        %(<rect x="#{LABEL_PIXELS}" y="#{top}" width="#{x(ratio) - LABEL_PIXELS}" height="22" fill="#{ratio < 1 ? "#b0b7bd" : "#2c7fb8"}"/>) +
        %(<text x="#{x(ratio) + 6}" y="#{top + 16}" #{FONT}>#{format(ratio < 2 ? "%.2f" : "%.1f", ratio)}</text>)
    end

    def x(ratio) = (LABEL_PIXELS + (ratio / @bars.map(&:last).max * BARS_PIXELS)).round
  end
end
