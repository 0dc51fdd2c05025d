# frozen_string_literal: true

module Guildhall
  module Kafka
    module Metrics
      module Dashboards
        # A dashboard for Datadog, on what {StatsD} sends.
        module Datadog
          class << self
            # @return [String] JSON
            def to_s
              groups = Dashboards.rows.map do |title, metrics|
                widgets = metrics.map { |metric| widget(metric) }
                {"definition" => {"type" => "group", "title" => title, "layout_type" => "ordered", "widgets" => widgets}}
              end
              ::JSON.pretty_generate("title" => "Guildhall", "layout_type" => "ordered", "widgets" => groups)
            end

            private

            def widget(metric)
              {"definition" => {"type" => "timeseries", "title" => "#{metric.full_name}: #{metric.description}",
                                "requests" => [{"q" => query(metric), "display_type" => metric.type == :counter ? "bars" : "line"}]}}
            end

            def query(metric)
              tags = metric.tags - [:partition]
              by = tags.empty? ? "" : " by {#{tags.join(",")}}"
              case metric.type
              when :counter then "sum:#{metric.full_name}{*}#{by}.as_rate()"
              when :gauge then "#{metric.unit == :seconds ? "max" : "sum"}:#{metric.full_name}{*}#{by}"
              else "p99:#{metric.full_name}{*}#{by}"
              end
            end
          end
        end
      end
    end
  end
end
