# frozen_string_literal: true

require "guildhall/chart"
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
      Guildhall::Chart::Bars.new(@bars, title: "Times as fast (1 = the same); #{@machine}", mark: 1).to_svg
    end
  end
end
