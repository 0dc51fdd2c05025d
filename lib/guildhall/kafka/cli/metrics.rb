# frozen_string_literal: true

module Guildhall
  module Kafka
    module CLI
      # `guildhall metrics`: what there is to watch, and dashboards for it.
      class Metrics < Guildhall::CLI::Command
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the list of metrics, or a dashboard of them for Grafana or Datadog"

        private

        def define_options(options)
          require_relative "../metrics/dashboards"
          formats = Kafka::Metrics::Dashboards::FORMATS
          options.on("-f", "--format FORMAT", formats, "#{formats.join(", ")} (default: #{formats.first})")
        end

        def call(_arguments)
          dashboards = Kafka::Metrics::Dashboards
          @out.puts(dashboards.public_send(@options.fetch(:format, dashboards::FORMATS.first)))
        end
      end
    end
  end
end
