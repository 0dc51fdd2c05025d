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

      # `guildhall routes`: prints what is consumed by whom.
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
          plans = Kafka.application.check!
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          topics = Kafka.routes.topics
          decoded = topics.to_h { |topic| [topic, plans.find { |one, _| one.group == topic.group && one.name == topic.name }&.last] }
          @options[:json] ? topics.each { |topic| print_json(data(topic, decoded[topic])) } : @out.puts(Kafka.routes.table(topics, decoded))
          nil
        end

        def data(topic, plan)
          {**topic.summary, "decoded_by" => plan&.place&.to_s, "not_on_workers" => plan&.reason}
        end
      end

      # `guildhall metrics`: what there is to watch, and dashboards for it.
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
