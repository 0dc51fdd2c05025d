# frozen_string_literal: true

require "guildhall/chart"
require_relative "results"

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

    # @param taken [Array<Results::Taken>]
    def initialize(taken)
      found = taken.select { |results| results.way == "plain" && !results.quick }.flat_map { |results| results.rows.map { |row| [row, results] } }
        .to_h { |row, results| [row.values_at("row", "against"), [row, results]] }
      @bars = ROWS.filter_map { |key, label| [label, *found[key]] if found[key] }
    end

    # @return [String, nil] nil: none of the rows was measured
    def svg
      return if @bars.empty?

      title = "Times as fast (1 = the same); #{Results.conditions(@bars.map { |_, row, results| [row, results] })}, without YJIT"
      Guildhall::Chart::Bars.new(@bars.map { |label, row, _| [label, row["ratio"]] }, title:, mark: 1).to_svg
    end
  end
end
