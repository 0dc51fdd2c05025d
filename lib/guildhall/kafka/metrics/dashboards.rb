# frozen_string_literal: true

require "json"
require_relative "../metrics"
require_relative "dashboards/datadog"
require_relative "dashboards/grafana"
require_relative "dashboards/markdown"

module Guildhall
  module Kafka
    module Metrics
      # What is made of the list of metrics: dashboards to import, and the table of the guide. `guildhall metrics` prints them.
      module Dashboards
        # What stands together, in the order of a page: title => how the names of its metrics begin.
        ROWS = {
          "Consuming" => %w[consumed dropped rejected], "Lag" => %w[lag stalled partitions in_flight],
          "Failures" => %w[retries retry_topic parked dead_letters errors],
          "Brokers and schema registries" => %w[broker. schema_registry.], "Group" => %w[members rebalances commit],
          "Transactions and schedules" => %w[transaction schedule],
          "Threads and workers" => %w[runners pool gc], "Producing" => %w[produce]
        }.freeze

        def self.rows
          ROWS.transform_values { |beginnings| Kafka::Metrics::LIST.select { |metric| metric.name.start_with?(*beginnings) } }
        end
      end
    end
  end
end
