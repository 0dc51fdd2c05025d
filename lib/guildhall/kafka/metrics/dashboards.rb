# frozen_string_literal: true

require "json"
require_relative "../metrics"
require_relative "prometheus"

module Guildhall
  module Kafka
    module Metrics
      # Dashboards to import and the table of the guide, made of the list of metrics. `guildhall metrics` prints them.
      # @api private
      module Dashboards
        # The rows of a page, in their order: title => how the names of the row's metrics begin.
        ROWS = {
          "Consuming" => %w[consumed dropped rejected], "Lag" => %w[lag stalled partitions in_flight],
          "Failures" => %w[retries retry_topic parked dead_letters errors],
          "Brokers and schema registries" => %w[broker. oauth_token. schema_registry.], "Group" => %w[members rebalances commit],
          "Transactions and schedules" => %w[transaction schedule],
          "Threads and workers" => %w[runners pool gc], "Producing" => %w[produce outbox],
          "Batches of jobs" => %w[batches]
        }.freeze
        FORMATS = %w[markdown grafana datadog].freeze # each a method
        GRAFANA_UNITS = {seconds: "s", bytes: "bytes", ratio: "percentunit"}.freeze
        PANELS = 3 # beside each other in Grafana, on 24 columns
        PANEL_HEIGHT = 7
        private_constant :GRAFANA_UNITS, :PANELS, :PANEL_HEIGHT

        class << self
          def rows
            ROWS.transform_values { |beginnings| LIST.select { |metric| metric.name.start_with?(*beginnings) } }
          end

          # @return [String] the table of the guide
          def markdown
            lines = LIST.map do |metric|
              tags = metric.tags.map { |tag| "`#{tag}`" }.join(", ")
              "| `#{metric.full_name}` | #{metric.type} | #{metric.unit} | #{tags} | #{metric.description} |"
            end
            ["| metric | type | unit | tags | what it is |", "|---|---|---|---|---|", *lines].join("\n")
          end

          # @return [String] JSON; on what {Prometheus} exports
          def grafana
            line = 0
            panels = rows.flat_map do |title, metrics|
              row = {"type" => "row", "title" => title, "gridPos" => {"x" => 0, "y" => line, "w" => 24, "h" => 1}}
              placed = metrics.each_with_index.map { |metric, index| grafana_panel(metric, index, line + 1) }
              line += 1 + (PANEL_HEIGHT * metrics.size.fdiv(PANELS).ceil)
              [row, *placed]
            end
            ::JSON.pretty_generate(
              "title" => "Guildhall", "uid" => "guildhall", "schemaVersion" => 39, "timezone" => "browser", "refresh" => "10s",
              "time" => {"from" => "now-1h", "to" => "now"},
              "templating" => {"list" => [{"name" => "datasource", "type" => "datasource", "query" => "prometheus"}]},
              "panels" => panels.each_with_index.map { |panel, index| {"id" => index + 1, **panel} }
            )
          end

          # @return [String] JSON; on what {StatsD} sends
          def datadog
            groups = rows.map do |title, metrics|
              widgets = metrics.map { |metric| {"definition" => datadog_widget(metric)} }
              {"definition" => {"type" => "group", "title" => title, "layout_type" => "ordered", "widgets" => widgets}}
            end
            ::JSON.pretty_generate("title" => "Guildhall", "layout_type" => "ordered", "widgets" => groups)
          end

          private

          def grafana_panel(metric, index, line)
            width = 24 / PANELS
            place = {"x" => (index % PANELS) * width, "y" => line + ((index / PANELS) * PANEL_HEIGHT), "w" => width, "h" => PANEL_HEIGHT}
            legend = lines_of(metric).map { |tag| "{{#{tag}}}" }.join(" ")
            {
              "type" => "timeseries", "title" => metric.full_name, "description" => metric.description,
              "datasource" => {"type" => "prometheus", "uid" => "${datasource}"},
              "gridPos" => place,
              "fieldConfig" => {"defaults" => {"unit" => GRAFANA_UNITS.fetch(metric.unit, "short"), "min" => 0}, "overrides" => []},
              "targets" => [{"refId" => "A", "expr" => grafana_query(metric), "legendFormat" => legend}]
            }
          end

          def grafana_query(metric)
            name = Prometheus.name_of(metric)
            by = ->(tags) { tags.empty? ? "" : " by (#{tags.join(", ")})" }
            case metric.type
            when :counter then "sum#{by.call(lines_of(metric))} (rate(#{name}[$__rate_interval]))"
            when :gauge then "#{over_all(metric)}#{by.call(lines_of(metric))} (#{name})"
            else "histogram_quantile(0.99, sum#{by.call([*lines_of(metric), :le])} (rate(#{name}_bucket[$__rate_interval])))"
            end
          end

          def datadog_widget(metric)
            by = " by {#{lines_of(metric).join(",")}}" if lines_of(metric).any?
            query = case metric.type
                    when :counter then "sum:#{metric.full_name}{*}#{by}.as_rate()"
                    when :gauge then "#{over_all(metric)}:#{metric.full_name}{*}#{by}"
                    else "p99:#{metric.full_name}{*}#{by}"
                    end
            {"type" => "timeseries", "title" => "#{metric.full_name}: #{metric.description}",
             "requests" => [{"q" => query, "display_type" => metric.type == :counter ? "bars" : "line"}]}
          end

          # @return [Array<Symbol>] tags that have a line for each of their values; partitions are too many for that
          def lines_of(metric) = metric.tags - [:partition]

          # How a gauge's values of several processes and partitions become one.
          def over_all(metric) = metric.unit == :seconds || metric.shared? ? "max" : "sum"
        end
      end
    end
  end
end
