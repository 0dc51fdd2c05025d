# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/suggestion"
require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall schedule`: recurring tasks.
      class Schedule < ApplicationCommand
        HEADINGS = %w[TASK CRON MISSED ENABLED LAST STATE NEXT].freeze
        ACTIONS = %w[list run enable disable].freeze

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "List, run, enable and disable scheduled tasks"

        private

        def arity = 2

        def define_options(options)
          options.banner = "usage: guildhall schedule list|run NAME|enable NAME|disable NAME [options]\n#{self.class.summary}\n\n"
          super
          options.on("--json", "list: a line of JSON for each task")
          options.separator("\nrun: in this process, now; its due times stay as they are. disable: no process runs it, from now on.")
        end

        def call(arguments)
          @action, @name = arguments
          problem = wrong_arguments
          raise Guildhall::ArgumentError, "#{problem} (guildhall schedule --help)" if problem

          super
        end

        def wrong_arguments
          return "which command? One of #{ACTIONS.join(", ")}" unless @action
          return "no command schedule #{@action}#{Suggestion.for(@action, ACTIONS)}" unless ACTIONS.include?(@action)
          return ("unexpected argument: #{@name}" if @name) if @action == "list"
          return "schedule #{@action} needs the name of a task" unless @name

          "--json is for schedule list only" if @options[:json]
        end

        def perform
          case @action
          when "list" then print_rows(Kafka.application.scheduled_tasks)
          when "run" then run_task
          else
            Kafka.application.switch_task(@name, @action == "enable")
            @out.puts("#{@name} is #{@action}d")
          end
          nil
        end

        def run_task
          began = Clock.now
          Kafka.application.run_task(@name)
          @out.puts(format("%s has run in %.1f s", @name, Clock.now - began))
        end

        def cells(status)
          [status.task.name, status.task.expression, status.task.missed, status.enabled ? "yes" : "no", time(status.last_due),
           status.run&.state || "new", time(status.next_due)]
        end

        def time(time) = time&.utc&.strftime("%F %T")

        def data(status)
          {"task" => status.task.name, "group" => status.topic.group, "cron" => status.task.expression, "missed" => status.task.missed.to_s,
           "enabled" => status.enabled, "last_due" => iso(status.last_due), "next_due" => iso(status.next_due),
           "state" => (status.run&.state || "new").to_s, "by" => status.run&.by, "error" => status.run&.error}
        end

        def iso(time) = time&.utc&.strftime("%FT%TZ")
      end
    end
  end
end
