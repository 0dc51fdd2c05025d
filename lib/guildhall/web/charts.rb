# frozen_string_literal: true

require "guildhall/kafka/reporting/wording"

module Guildhall
  class Web
    # Charts as SVG, for templates. Each says in words what it shows; the same numbers are in a table, and in the page's JSON.
    # @api private
    module Charts
      SPARK_HEIGHT = 22
      CHART_WIDTH = 900
      CHART_HEIGHT = 130
      LINES = 4 # of the grid, above 0
      # Between two of these lines.
      SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400].freeze
      private_constant :SPARK_HEIGHT, :CHART_WIDTH, :CHART_HEIGHT, :LINES, :SECONDS

      # A small curve without axes.
      # @param values [Array<Numeric, nil>] nil: not known, which is a gap
      # @param title [String] what it shows, such as "Lag, last hour"
      # @param unit [String] as for {#measure}
      # @param hot [Boolean] whether it is bad
      # @return [SafeString] in words where one number or none is known: that is no curve
      def spark(values, title:, unit: "count", hot: false)
        return raw(%(<span class="dim nothing">–</span>)) if values.compact.size < 2

        most = [values.compact.max.to_f, 1e-9].max
        runs = values.each_index.chunk_while { |before, after| values[before].nil? == values[after].nil? }
          .reject { |run| values[run.first].nil? }
        path = runs.map do |run|
          points = run.map { |index| "#{index} #{(SPARK_HEIGHT - 2 - ((SPARK_HEIGHT - 4) * values[index] / most)).round(1)}" }
          # The area's edges lie outside of what is seen, but at gaps.
          first = run.first.zero? ? -2 : run.first
          last = run.last == values.size - 1 ? run.last + 2 : run.last
          from, to = points.values_at(0, -1).map { |point| point.split.last }
          "M#{first} #{SPARK_HEIGHT + 2}L#{first} #{from}L#{points.join(" ")} #{last} #{to} #{last} #{SPARK_HEIGHT + 2}"
        end.join
        raw(%(<svg class="spark#{" hot" if hot}" viewBox="0 0 #{values.size - 1} #{SPARK_HEIGHT}" preserveAspectRatio="none" role="img" ) +
          %(aria-label="#{h(in_words(title, values, unit))}"><path d="#{path}"/></svg>))
      end

      # A chart over time, with what happened meanwhile.
      # @param at [Array<Numeric>] when each value was, in seconds since 1970
      # @param lines [Array<Hash>] at most three: name, and values as for {#spark}
      # @param events [Array<Hash>] at and text
      def chart(at, lines, title:, unit: "count", events: [])
        top = LINES * step(lines.flat_map { |line| line[:values] }.compact.max.to_f, unit)
        grid = (0..LINES).map { |index| %(<path class="g" d="M0 #{y(index, LINES)}H#{CHART_WIDTH}"/>) }.join
        marks = events.map { |event| %(<path class="ev" d="M#{x(event[:at], at)} 4V#{CHART_HEIGHT}"/>) }.join
        curves = lines.each_with_index.map { |line, index| curve(line[:values], top, index) }.join
        labels = LINES.downto(0).map { |index| "<span>#{h(measure(top * index / LINES, unit))}</span>" }.join
        times = [0, 0.25, 0.5, 0.75, 1].map do |part|
          "<span>#{Time.at(at.first + ((at.last - at.first) * part)).utc.strftime("%H:%M")}</span>"
        end.join
        words = lines.map { |line| in_words(line[:name], line[:values], unit) }.join(". ")
        raw(%(<div class="plot"><div class="y" aria-hidden="true">#{labels}</div>) +
          %(<svg class="chart" viewBox="0 0 #{CHART_WIDTH} #{CHART_HEIGHT}" preserveAspectRatio="none" role="img" ) +
          %(aria-label="#{h("#{title}. #{words}")}">#{grid}#{marks}#{curves}</svg>) +
          %(<div class="x" aria-hidden="true">#{times}</div>#{told(events)}</div>))
      end

      # @return [SafeString] the names of a chart's lines
      def legend(lines)
        raw(lines.each_with_index.map do |line, index|
          %(<span><svg viewBox="0 0 16 8" aria-hidden="true"><path d="M0 4h16" class="l l#{index + 1}"/></svg>#{h(line[:name])}</span>)
        end.join)
      end

      # @return [SafeString] how much of the most there is, as a bar
      def bar(value, most, hot: false)
        width = most.to_f.positive? ? (64 * value.to_f / most).clamp(0, 64).round(1) : 0
        raw(%(<svg class="bar" viewBox="0 0 64 7" aria-hidden="true"><rect class="t" width="64" height="7" rx="3.5"/>) +
          %(<rect class="v#{" bad" if hot}" width="#{width}" height="7" rx="3.5"/></svg>))
      end

      # @param unit [String] "seconds", "memory", "rate" (a second), "cores", "share" or "count"
      # @return [String] a number as people read it; "–" for nil
      def measure(value, unit)
        return "–" if value.nil?

        case unit
        when "seconds" then value.zero? ? "0" : duration(value)
        when "memory" then memory(value.round)
        when "rate" then "#{rate(value)}/s"
        when "cores" then format("%.2f", value)
        when "share" then "#{(value * 100).round} %"
        else value.is_a?(Float) && value != value.round ? format("%.1f", value) : count(value.round)
        end
      end

      private

      def in_words(title, values, unit)
        known = values.compact
        return "#{title}: not known" if known.empty?

        low, high = known.minmax.map { |value| measure(value, unit) }
        "#{title}: #{low == high ? "always #{low}" : "from #{low} to #{high}, at last #{measure(known.last, unit)}"}"
      end

      def step(most, unit)
        return SECONDS.find { |step| step * LINES >= most } || (most / LINES / 86_400).ceil * 86_400 if unit == "seconds"

        power = 10.0**Math.log10([most / LINES, 0.01].max).floor
        [1, 2, 5, 10].map { |factor| factor * power }.find { |step| step * LINES >= most - 1e-9 }
      end

      def y(value, top) = (CHART_HEIGHT - 2 - ((CHART_HEIGHT - 6) * value.to_f / top)).round(1)
      def x(time, at) = (CHART_WIDTH * (time - at.first).to_f / [at.last - at.first, 1].max).clamp(0, CHART_WIDTH).round(1)

      def curve(values, top, index)
        last = [values.size - 1, 1].max
        new = true
        path = values.each_with_index.map do |value, position|
          next (new = true) && nil if value.nil?

          point = "#{new ? "M" : "L"}#{(CHART_WIDTH * position / last.to_f).round(1)} #{y(value, top)}"
          new = false
          point
        end.join
        %(<path class="l l#{index + 1}" d="#{path}"/>)
      end

      def told(events)
        return if events.empty?

        %(<p class="ev">#{events.map do |event|
          "┊ #{Time.at(event[:at]).utc.strftime("%H:%M:%S")} #{h(event[:text])}"
        end.join(" &nbsp; ")}</p>)
      end
    end
  end
end
