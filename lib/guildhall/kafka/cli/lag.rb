# frozen_string_literal: true

require_relative "application_command"

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
          table = [HEADINGS, *rows.map { |row| cells(row) }]
          widths = table.transpose.map { |column| column.map(&:size).max }
          table.each { |line| @out.puts(line.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip) }
          nil
        end

        def cells(row)
          [row.group, row.topic, row.partition.to_s, row.committed&.to_s || "-", row.end_offset.to_s, row.messages.to_s,
           row.seconds ? format("%.1f", row.seconds) : "-"]
        end
      end
    end
  end
end
