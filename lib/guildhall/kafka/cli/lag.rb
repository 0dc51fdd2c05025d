# frozen_string_literal: true

require_relative "application_command"
require_relative "table"

module Guildhall
  module Kafka
    module CLI
      # `guildhall lag`: how far the application's consumer groups are behind.
      class Lag < ApplicationCommand
        HEADINGS = %w[GROUP TOPIC PARTITION COMMITTED END MESSAGES SECONDS].freeze

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print how far the application's consumer groups are behind, as the broker knows it"

        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
        end

        def perform
          rows = Kafka.application.lag(groups: @options[:groups])
          @out.puts(Table.lines(HEADINGS, rows.map { |row| cells(row) }))
          nil
        end

        def cells(row)
          [row.group, row.topic, row.partition, row.committed, row.end_offset, row.messages,
           row.seconds && format("%.1f", row.seconds)]
        end
      end
    end
  end
end
