# frozen_string_literal: true

require_relative "../prometheus"

module Guildhall
  module Kafka
    module Metrics
      module Dashboards
        # A dashboard for Grafana, on what {Prometheus} exports.
        module Grafana
          UNITS = {seconds: "s", bytes: "bytes", ratio: "percentunit"}.freeze
          WIDTH = 8 # of 24 columns
          HEIGHT = 7
          private_constant :UNITS, :WIDTH, :HEIGHT

          class << self
            # @return [String] JSON
            def to_s
              ::JSON.pretty_generate(
                "title" => "Guildhall", "uid" => "guildhall", "schemaVersion" => 39, "timezone" => "browser", "refresh" => "10s",
                "time" => {"from" => "now-1h", "to" => "now"},
                "templating" => {"list" => [{"name" => "datasource", "type" => "datasource", "query" => "prometheus"}]},
                "panels" => panels
              )
            end

            private

            def panels
              line = 0
              all = Dashboards.rows.flat_map do |title, metrics|
                row = {"type" => "row", "title" => title, "gridPos" => {"x" => 0, "y" => line, "w" => 24, "h" => 1}}
                placed = metrics.each_with_index.map { |metric, index| panel(metric, index, line + 1) }
                line += 1 + (HEIGHT * metrics.size.fdiv(24 / WIDTH).ceil)
                [row, *placed]
              end
              all.each_with_index.map { |panel, index| {"id" => index + 1, **panel} }
            end

            def panel(metric, index, line)
              per_row = 24 / WIDTH
              {
                "type" => "timeseries", "title" => metric.full_name, "description" => metric.description,
                "datasource" => {"type" => "prometheus", "uid" => "${datasource}"},
                "gridPos" => {"x" => (index % per_row) * WIDTH, "y" => line + ((index / per_row) * HEIGHT), "w" => WIDTH, "h" => HEIGHT},
                "fieldConfig" => {"defaults" => {"unit" => UNITS.fetch(metric.unit, "short"), "min" => 0}, "overrides" => []},
                "targets" => [{"refId" => "A", "expr" => expression(metric), "legendFormat" => legend(metric)}]
              }
            end

            # Partitions are too many for lines of their own.
            def tags(metric) = metric.tags - [:partition]

            def expression(metric)
              name = Prometheus.name_of(metric)
              by = tags(metric)
              case metric.type
              when :counter then "sum#{grouped(by)} (rate(#{name}[$__rate_interval]))"
              when :gauge then "#{metric.unit == :seconds ? "max" : "sum"}#{grouped(by)} (#{name})"
              else "histogram_quantile(0.99, sum#{grouped([*by, :le])} (rate(#{name}_bucket[$__rate_interval])))"
              end
            end

            def grouped(by) = by.empty? ? "" : " by (#{by.join(", ")})"
            def legend(metric) = tags(metric).map { |tag| "{{#{tag}}}" }.join(" ")
          end
        end
      end
    end
  end
end
