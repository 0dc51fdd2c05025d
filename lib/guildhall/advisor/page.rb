# frozen_string_literal: true

require_relative "../chart"

module Guildhall
  class Advisor
    # An advice as one HTML page that opens without network.
    # @api private
    class Page
      STYLE = "body{font-family:sans-serif;max-width:920px;margin:2em auto;color:#222}table{border-collapse:collapse;margin:1em 0}" \
              "td,th{border:1px solid #ccc;padding:.3em .7em;text-align:right}td:first-child,th:first-child{text-align:left}" \
              ".verdict{font-size:1.2em;padding:1em;background:#eef5fa;border-left:5px solid #2c7fb8}"
      private_constant :STYLE

      # @param name [String] of the task
      # @param machine [String] what it was measured on
      def initialize(advice, name:, machine: RUBY_DESCRIPTION)
        @advice = advice
        @name = name
        @machine = machine
      end

      def to_html
        <<~HTML
          <!DOCTYPE html>
          <html lang="en"><head><meta charset="utf-8"><title>#{e("Advice for #{@name}")}</title><style>#{STYLE}</style></head><body>
          <h1>#{e(@name)}</h1>
          <p>#{e(@machine)}, #{Time.now.strftime("%F %R")}</p>
          <p class="verdict">#{e(@advice.verdict)}</p>
          <h2>Payloads</h2>
          #{Chart::Bars.new(@advice.payloads.histogram, title: "Payloads by size").to_svg}
          #{table([%w[measured value], *@advice.facts_table])}
          #{"<h2>Workers and batch sizes</h2>#{lines}#{table(@advice.gains_table)}" if @advice.cells.any?}
          #{"<h2>Decision table of this machine</h2>#{table(@advice.decision_table)}" if @advice.table.any?}
          </body></html>
        HTML
      end

      private

      def e(text) = Chart.escape(text)

      def lines
        head, *rows = @advice.gains_table
        series = head.drop(1).each_with_index.to_h { |name, index| [name, rows.map { |row| row[index + 1] }] }
        Chart::Lines.new(rows.map(&:first), series, title: "Times as fast as a loop", below: "payloads in a batch", mark: 1).to_svg
      end

      def table((head, *rows))
        "<table><tr>#{head.map { |cell| "<th>#{e(cell)}</th>" }.join}</tr>" \
          "#{rows.map { |row| "<tr>#{row.map { |cell| "<td>#{e(cell || "–")}</td>" }.join}</tr>" }.join}</table>"
      end
    end
  end
end
