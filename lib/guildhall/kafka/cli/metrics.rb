# frozen_string_literal: true

module Guildhall
  module Kafka
    module CLI
      # `guildhall metrics`: what there is to watch, and dashboards for it.
      class Metrics < Guildhall::CLI::Command
        FORMATS = %w[markdown grafana datadog].freeze

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the list of metrics, or a dashboard of them for Grafana or Datadog"

        private

        def define_options(options)
          options.on("-f", "--format FORMAT", FORMATS, "#{FORMATS.join(", ")} (default: markdown)")
        end

        def call(_arguments)
          require_relative "../metrics/dashboards"
          format = @options.fetch(:format, "markdown")
          @out.puts(Kafka::Metrics::Dashboards.const_get(format.capitalize).to_s)
        end
      end
    end
  end
end
