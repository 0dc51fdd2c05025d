# frozen_string_literal: true

require "cgi/escape"

module Guildhall
  # Charts as SVG, to stand in an HTML page or a file: no script, no font, no network.
  # @api private
  module Chart
    WIDTH = 880
    LABEL_PIXELS = 380
    FONT = 'font-family="sans-serif" font-size="14"'
    COLOURS = %w[#2c7fb8 #d95f0e #31a354 #756bb1 #636363 #e7298a #1b9e77 #a6761d].freeze
    private_constant :WIDTH, :LABEL_PIXELS, :FONT, :COLOURS

    # @return [String] for HTML
    def self.escape(text) = CGI.escapeHTML(text.to_s)

    # @api private
    # @return [String] how a number is written in a chart: two significant places, about
    def self.number(value)
      format(value.abs < 10 ? "%.2f" : (value.abs < 100 ? "%.1f" : "%.0f"), value).sub(/\.?0+\z/) do |zeros|
        zeros.start_with?(".") ? "" : zeros
      end
    end

    # @api private
    # @param parts [Array<String, nil>] what is drawn
    def self.svg(height, title, parts)
      <<~SVG
        <svg xmlns="http://www.w3.org/2000/svg" width="#{WIDTH}" height="#{height}" viewBox="0 0 #{WIDTH} #{height}" role="img">
        <rect width="#{WIDTH}" height="#{height}" fill="#ffffff"/>
        <text x="10" y="20" #{FONT} font-weight="bold">#{escape(title)}</text>
        #{parts.compact.join("\n")}
        </svg>
      SVG
    end

    # One bar a row, one below the other.
    class Bars
      ROW_PIXELS = 30
      RIGHT = WIDTH - 70
      private_constant :ROW_PIXELS, :RIGHT

      # @param rows [Array<Array(String, Numeric)>] label and value
      # @param mark [Numeric, nil] where a dashed line stands, below which bars are grey: 1 for ratios; nil: none
      def initialize(rows, title:, mark: nil)
        @rows = rows
        @title = title
        @mark = mark
        @most = [*rows.map(&:last), mark.to_f, Float::MIN].compact.max
      end

      def to_svg
        height = (@rows.size * ROW_PIXELS) + 50
        bars = @rows.each_with_index.map { |(label, value), index| bar(label, value, 34 + (index * ROW_PIXELS)) }
        mark = %(<line x1="#{x(@mark)}" x2="#{x(@mark)}" y1="30" y2="#{height - 14}" stroke="#c0392b" stroke-dasharray="4"/>) if @mark
        Chart.svg(height, @title, [*bars, mark])
      end

      private

      def bar(label, value, top)
        colour = @mark && value < @mark ? "#b0b7bd" : COLOURS.first
        %(<text x="#{LABEL_PIXELS - 8}" y="#{top + 16}" text-anchor="end" #{FONT}>#{Chart.escape(label)}</text>) +
          %(<rect x="#{LABEL_PIXELS}" y="#{top}" width="#{x(value) - LABEL_PIXELS}" height="22" fill="#{colour}"/>) +
          %(<text x="#{x(value) + 6}" y="#{top + 16}" #{FONT}>#{Chart.number(value)}</text>)
      end

      def x(value) = (LABEL_PIXELS + (value / @most.to_f * (RIGHT - LABEL_PIXELS))).round
    end

    # Several series over the same steps, which stand at equal distances.
    class Lines
      HEIGHT = 340
      LEFT = 60
      RIGHT = WIDTH - 170
      TOP = 40
      BOTTOM = HEIGHT - 50
      private_constant :HEIGHT, :LEFT, :RIGHT, :TOP, :BOTTOM

      # @param steps [Array<#to_s>] below the chart
      # @param series [Hash{String=>Array<Numeric, nil>}] a value for each step; nil: none
      # @param below [String] what the steps are
      # @param mark [Numeric, nil] where a dashed line stands; nil: none
      def initialize(steps, series, title:, below:, mark: nil)
        @steps = steps
        @series = series
        @title = title
        @below = below
        @mark = mark
        @most = [*series.values.flatten.compact, mark.to_f, Float::MIN].max * 1.05
      end

      def to_svg
        Chart.svg(HEIGHT, @title, [*axes, *@series.each_with_index.map { |(name, values), index| line(name, values, index) }])
      end

      private

      def axes
        across = (0..4).map do |part|
          value = @most * part / 4
          %(<line x1="#{LEFT}" x2="#{RIGHT}" y1="#{y(value)}" y2="#{y(value)}" stroke="#dddddd"/>) +
            %(<text x="#{LEFT - 8}" y="#{y(value) + 5}" text-anchor="end" #{FONT}>#{Chart.number(value)}</text>)
        end
        steps = @steps.each_with_index.map do |step, index|
          %(<text x="#{x(index)}" y="#{BOTTOM + 20}" text-anchor="middle" #{FONT}>#{Chart.escape(step)}</text>)
        end
        mark = %(<line x1="#{LEFT}" x2="#{RIGHT}" y1="#{y(@mark)}" y2="#{y(@mark)}" stroke="#c0392b" stroke-dasharray="4"/>) if @mark
        below = %(<text x="#{(LEFT + RIGHT) / 2}" y="#{BOTTOM + 42}" text-anchor="middle" #{FONT}>#{Chart.escape(@below)}</text>)
        [*across, *steps, mark, below]
      end

      def line(name, values, index)
        colour = COLOURS[index % COLOURS.size]
        points = values.each_with_index.filter_map { |value, step| "#{x(step)},#{y(value)}" if value }
        %(<polyline points="#{points.join(" ")}" fill="none" stroke="#{colour}" stroke-width="2"/>) +
          points.map { |point| %(<circle cx="#{point.split(",")[0]}" cy="#{point.split(",")[1]}" r="3" fill="#{colour}"/>) }.join +
          %(<rect x="#{RIGHT + 14}" y="#{TOP + (index * 22)}" width="12" height="12" fill="#{colour}"/>) +
          %(<text x="#{RIGHT + 32}" y="#{TOP + 11 + (index * 22)}" #{FONT}>#{Chart.escape(name)}</text>)
      end

      def x(index) = (LEFT + 20 + (index * (RIGHT - LEFT - 40) / [@steps.size - 1, 1].max.to_f)).round
      def y(value) = (BOTTOM - (value / @most.to_f * (BOTTOM - TOP))).round
    end
  end
end
