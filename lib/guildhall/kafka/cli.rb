# frozen_string_literal: true

require "guildhall/cli/command" # of another gem: not by relative path
require_relative "errors"
require_relative "cli/server"
require_relative "cli/groups"
require_relative "cli/dlq"
require_relative "cli/schedule"

module Guildhall
  module Kafka
    # The commands that this gem adds to `guildhall`.
    module CLI
      def self.commands = [Server, Swarm, Routes, Lag, Keys, Dlq, Schedule, Metrics]

      # `guildhall routes`: prints groups, topics and consumers.
      class Routes < ApplicationCommand
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Check the application's settings and routes; print its consumer groups, topics and consumers"

        private

        def define_options(options)
          super
          options.on("--json", "a line of JSON for each topic or pattern")
        end

        # Whatever the server would refuse is an error here; what it would only warn of is a warning.
        def perform
          decodings = Kafka.application.check!
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          topics = Kafka.routes.latest_topics
          if @options[:json]
            topics.each { |topic| print_json(data(topic, decodings[topic])) }
          else
            @out.puts(Kafka.routes.table(topics, decodings))
          end
          nil
        end

        def data(topic, decoding)
          {**topic.summary, "decoded_by" => decoding&.place&.to_s, "not_on_workers" => decoding&.reason}
        end
      end

      # `guildhall metrics`: prints the list of metrics, and dashboards for them.
      class Metrics < Guildhall::CLI::Command
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the list of metrics, or a dashboard of them for Grafana or Datadog"

        private

        def define_options(options)
          require_relative "metrics/dashboards"
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
