# frozen_string_literal: true

require "fileutils"
require "guildhall/chart"
require_relative "results"

class Bench
  # What was measured as one HTML page that opens without network, and a chart a table beside it.
  class Page
    STYLE = "body{font-family:sans-serif;max-width:1000px;margin:2em auto;color:#222}table{border-collapse:collapse;margin:1em 0;font-size:.9em}" \
            "td,th{border:1px solid #ccc;padding:.25em .6em;text-align:left}td.number{text-align:right}.when{color:#666}"

    LABEL = 55 # characters
    private_constant :LABEL

    # @param taken [Array<Results::Taken>]
    # @param title [String]
    # @param remark [String] what is to be said of all of it
    def initialize(taken, title:, remark: "")
      @tables = taken.group_by(&:name)
      @title = title
      @remark = remark
    end

    # @param path [String] of the page; charts lie in `charts` beside it
    # @return [Hash{String=>String}] page and charts by their paths
    def files(path)
      {path => html, **@tables.to_h { |name, ways| [File.join(File.dirname(path), "charts", "#{name}.svg"), chart(name, ways)] }}
    end

    # @return [String] the path
    def write(path)
      files(path).each do |file, text|
        FileUtils.mkdir_p(File.dirname(file))
        File.write(file, text)
      end
      path
    end

    # @return [String]
    def html
      <<~HTML
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>#{e(@title)}</title><style>#{STYLE}</style></head><body>
        <h1>#{e(@title)}</h1>
        <p>#{e(@remark)}</p>
        <ul>#{@tables.keys.map { |name| %(<li><a href="##{e(name)}">#{e(name)}</a></li>) }.join}</ul>
        #{@tables.map { |name, ways| section(name, ways) }.join("\n")}
        </body></html>
      HTML
    end

    private

    def e(text) = Guildhall::Chart.escape(text)

    def chart(name, ways)
      rows = ways.first.rows.map { |row| [label(row, name), row["ratio"]] }
      Guildhall::Chart::Bars.new(rows, title: "#{name}: higher is better (1 = the same)", mark: 1).to_svg
    end

    def label(row, name)
      talk = " (talk: #{row["talk"]})" if row["talk"]
      "#{"#{row["row"].delete_prefix("#{name}.")} / #{row["against"]}"[0, LABEL - talk.to_s.size]}#{talk}"
    end

    def section(name, ways)
      [%(<h2 id="#{e(name)}">#{e(name)}</h2>), "<p>#{e(about(name))}</p>", chart(name, ways),
       *ways.map { |taken| %(<p class="when">#{e(taken.machine)}; #{e(taken.date)}#{remarks(taken)}</p>#{table(taken.rows)}) }].join("\n")
    end

    def remarks(taken)
      remarks = []
      remarks << "; quick run: few rounds" if taken.quick
      remarks << "; cut off: #{taken.cut}" if taken.cut
      remarks.join
    end

    # The script's own words.
    def about(name)
      path = Dir[File.expand_path("../{,talk/}#{name}.rb", __dir__)].first or return ""

      File.foreach(path, encoding: "UTF-8").drop(2).take_while { |line| line.start_with?("# ") }.map { |line| line.delete_prefix("# ").chomp }.join(" ")
    end

    def table(rows)
      head = "<tr><th>row</th><th>against</th><th>ratio</th><th>goal</th><th>the talk</th><th></th></tr>"
      "<table>#{head}#{rows.map { |row| tr(row) }.join}</table>"
    end

    def tr(row)
      goal = "#{row["goal"]} #{{true => "✓", false => "✗"}[row["met"]]}"
      "<tr><td>#{e(row["row"])}</td><td>#{e(row["against"])}</td><td class=\"number\">#{format("%.2f", row["ratio"])}</td>" \
        "<td>#{e(goal)}</td><td>#{e(row["talk"] || "–")}</td><td>#{e(row["note"])}</td></tr>"
    end
  end
end
