# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/suggestion"
require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall outbox`: what waits in the application's outbox, and what Kafka has refused.
      class Outbox < ApplicationCommand
        ACTIONS = %w[status list retry].freeze
        HEADINGS = %w[ID TOPIC KEY WRITTEN ERROR].freeze
        private_constant :ACTIONS
        NOTES = <<~TEXT

          status: messages that wait to be sent, the age of the oldest, and messages that brokers have refused. list: those. retry: sends
          them again, all of them or those with these IDs, behind what was sent meanwhile. No broker is asked.
        TEXT
        private_constant :NOTES

        def self.summary = "Show what waits in the transactional outbox; list and retry what was refused"
        def self.words = ACTIONS

        private

        def arity = Float::INFINITY

        def define_options(options)
          options.banner = "usage: guildhall outbox status|list|retry [ID…] [options]\n#{self.class.summary}\n\n"
          super
          options.on("--json", "status, list: lines of JSON")
          options.separator(NOTES)
        end

        def call(arguments)
          @action, *@ids = arguments
          problem = wrong_arguments and raise Guildhall::ArgumentError, "#{problem} #{see_help}"
          super
        end

        def wrong_arguments
          return "which command? One of #{ACTIONS.join(", ")}" unless @action
          return "no command outbox #{@action}#{Suggestion.for(@action, ACTIONS)}" unless ACTIONS.include?(@action)
          return "unexpected argument: #{@ids.first}" if @action != "retry" && @ids.any?

          wrong = @ids.grep_v(/\A\d{1,18}\z/).first and return "retry takes IDs as guildhall outbox list prints them, not #{wrong}"
          "--json is for outbox status and list only" if @options[:json] && @action == "retry"
        end

        def perform
          @err.puts("guildhall: warning: #{Kafka::Outbox::NOT_SENT}") unless Kafka.config.outbox
          Kafka::Outbox::Message.explaining { act(Kafka::Outbox::Message) }
        rescue ::ActiveRecord::ActiveRecordError => error
          raise CommandError, "the outbox's database: #{error.class}: #{error.message}"
        end

        def act(messages)
          case @action
          when "status" then print_status(messages.status)
          when "list" then print_rows(messages.parked.order(:id).limit(1_000))
          else
            count = messages.retry(*@ids.map(&:to_i))
            @out.puts("#{Printable.count(count, "message is", "messages are")} sent again")
          end
          nil
        end

        def print_status(status)
          return print_json(status.to_h.transform_keys(&:name)) if @options[:json]

          refused = Printable.count(status.parked, "message was", "messages were")
          waiting = Printable.count(status.messages, "message waits", "messages wait")
          @out.puts("#{waiting} to be sent#{", the oldest for #{Printable.duration(status.seconds)}" if status.messages.positive?}",
            "#{refused} refused#{" (guildhall outbox list)" if status.parked.positive?}")
        end

        def cells(row)
          [row.id, row.topic, row.key && Printable.words(row.key, 40), time(row.created_at), Printable.words(row.error.to_s, 200)]
        end

        def data(row)
          {"id" => row.id, "topic" => row.topic, **(row.key ? text("key", row.key) : {"key" => nil}), "bytes" => row.payload.to_s.bytesize,
           "written" => time(row.created_at, "%FT%TZ"), "error" => row.error}
        end
      end
    end
  end
end
