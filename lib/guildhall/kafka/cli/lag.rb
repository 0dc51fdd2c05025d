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
                            "transactions follow the committed offset; between messages they are counted.\n" \
                            "Topics and partitions that could not be queried are listed on standard error; the exit status is " \
                            "#{PARTIAL} then.")
        end

        def perform
          answer = Kafka.application.lag(groups: @options[:groups], topics: @options[:topics])
          if @options[:json]
            answer.each { |row| print_json(row.to_h.transform_keys(&:to_s)) }
          else
            @out.puts(TextTable.lines([HEADINGS, *answer.map { |row| cells(row) }]))
          end
          report(answer.problems, named: [*@options[:topics]])
        end

        def cells(row)
          [row.group, row.topic, row.partition, row.committed, row.end_offset, row.messages,
           row.seconds && format("%.1f", row.seconds)]
        end
      end
    end
  end
end
