# frozen_string_literal: true

require "guildhall/text_table"
require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall lag`: how far the application's consumer groups are behind.
      class Lag < ApplicationCommand
        HEADINGS = %w[GROUP TOPIC PARTITION COMMITTED END MESSAGES SECONDS].freeze

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the lag of the application's consumer groups, from the broker"

        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all)")
          options.on("--json", "a line of JSON for each partition")
          options.separator("\nSECONDS: the age of the oldest message that is not committed. MESSAGES is 0 if only control records of\n" \
                            "transactions follow the committed offset; between messages they are counted.")
        end

        def perform
          rows = Kafka.application.lag(**selection)
          missing(rows).each { |name| @err.puts("guildhall: there is no topic #{name}") }
          return rows.each { |row| print_json(row.to_h.transform_keys(&:to_s)) } && nil if @options[:json]

          @out.puts(TextTable.lines([HEADINGS, *rows.map { |row| cells(row) }]))
          nil
        end

        def selection = {groups: @options[:groups], topics: @options[:topics]}

        # Topics of the routes without a row: a broker has no lag for what it does not have.
        def missing(rows)
          routes = Routing::Selection.new(**selection).choose(Kafka.application.validate!)
          routes.reject { |route| route.assigned || route.pattern? }.map(&:name).uniq - rows.map(&:topic)
        end

        def cells(row)
          [row.group, row.topic, row.partition, row.committed, row.end_offset, row.messages,
           row.seconds && format("%.1f", row.seconds)]
        end
      end
    end
  end
end
