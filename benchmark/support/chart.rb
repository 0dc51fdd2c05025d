# frozen_string_literal: true

require "SVG/Graph/BarHorizontal"

class Bench
  # benchmark/results.svg: how many times faster than what people use today, a bar a row.
  class Chart
    PATH = File.expand_path("../results.svg", __dir__)
    # What people ask first, and against what.
    ROWS = {
      /\Akafka\.document\./ => "Karafka",
      /\Akafka\.stages\./ => "Karafka",
      /\Apool\.documents / => "JSON.parse",
      /\Apool\.hashes / => "JSON.parse",
      /\Ajson\.document\.(?:orders|webhooks)/ => "JSON.parse",
      /\Amsgpack\.frozen / => "make_shareable"
    }.freeze

    # @param rows [Array<Hash>] as the scripts print them with --json
    def initialize(rows)
      @rows = ROWS.flat_map do |name, against|
        rows.select { |row| row["row"].match?(name) && row["against"].start_with?(against) }
      end
    end

    # @return [String, nil] where it is; nil: none of the rows was measured
    def write
      return if @rows.empty?

      labels = @rows.map { |row| "#{row["row"]} × #{row["against"]}" }.reverse
      graph = SVG::Graph::BarHorizontal.new(fields: labels, width: 900, height: 60 + (26 * labels.size), graph_title: Machine.description,
        show_graph_title: true, key: false, rotate_y_labels: false, min_scale_value: 0, scale_integers: true, scale_divisions: 1, y_label_font_size: 10)
      graph.add_data(title: "times faster", data: @rows.map { |row| row["ratio"].round(1) }.reverse)
      File.write(PATH, graph.burn)
      PATH
    end
  end
end
