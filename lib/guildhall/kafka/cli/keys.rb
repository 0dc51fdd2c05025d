# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/text_table"
require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall keys`: the keys that wait because a message of theirs has failed.
      class Keys < ApplicationCommand
        HEADINGS = %w[GROUP TOPIC PARTITION KEY OFFSET MESSAGES SECONDS].freeze
        MAX_KEY_CHARACTERS = 60

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the parked keys of topics that are ordered by key, from the broker"

        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all)")
          options.on("--json", "a line of JSON for each key")
          options.separator("\nOFFSET: of the first message that waits. MESSAGES: how many were passed over when the group last\n" \
                            "committed; messages in work count, too. SECONDS: the age of the first.\n" \
                            "Topics and partitions that could not be queried are listed on standard error; the exit status is " \
                            "#{PARTIAL} then.")
        end

        def perform
          answer = Kafka.application.parked_keys(groups: @options[:groups], topics: @options[:topics])
          if @options[:json]
            answer.each { |row| print_json(data(row)) }
          else
            @out.puts(TextTable.lines([HEADINGS, *answer.map { |row| cells(row) }]))
          end
          report(answer.problems, named: [*@options[:topics]])
        end

        def cells(row)
          [row.group, row.topic, row.partition, key(row) || "-", row.offset, row.messages,
           row.seconds && format("%.1f", row.seconds)]
        end

        def key(row) = row.key && Printable.words(row.key, MAX_KEY_CHARACTERS)

        def data(row)
          {"group" => row.group, "topic" => row.topic, "partition" => row.partition, **text("key", row.key), "offset" => row.offset,
           "messages" => row.messages, "seconds" => row.seconds}
        end
      end
    end
  end
end
