# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/suggestion"
require "guildhall/text_table"
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
          problem = wrong_action || wrong_name
          raise Guildhall::ArgumentError, "#{problem} (guildhall schedule --help)" if problem

          super
        end

        def wrong_action
          return "which command? One of #{ACTIONS.join(", ")}" unless @action

          "no command schedule #{@action}#{Suggestion.for(@action, ACTIONS)}" unless ACTIONS.include?(@action)
        end

        def wrong_name
          return "unexpected argument: #{@name}" if @action == "list" && @name
          return "schedule #{@action} needs the name of a task" if @action != "list" && @name.nil?

          "--json is for schedule list only" if @action != "list" && @options[:json]
        end

        def perform
          case @action
          when "list" then list
          when "run" then run_task
          else switch(@action == "enable")
          end
          nil
        end

        def run_task
          began = Clock.now
          Kafka.application.run_task(@name)
          @out.puts(format("%s has run in %.1f s", @name, Clock.now - began))
        end

        def switch(enabled)
          Kafka.application.switch_task(@name, enabled)
          @out.puts("#{@name} is #{enabled ? "enabled" : "disabled"}")
        end

        def list
          found = Kafka.application.scheduled_tasks
          return found.each { |status| print_json(data(status)) } if @options[:json]

          @out.puts(TextTable.lines([HEADINGS, *found.map { |status| cells(status) }]))
        end

        def cells(status)
          [status.task.name, status.task.expression, status.task.missed, status.enabled ? "yes" : "no", time(status.last_due),
           status.run&.state || "new", time(status.next_due)]
        end

        def time(time) = time&.utc&.strftime("%F %T") || "-"

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
