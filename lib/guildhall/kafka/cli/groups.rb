# frozen_string_literal: true

require "guildhall/printable"
require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # A command that asks the brokers about consumer groups, and prints a row for each partition, or key.
      class GroupCommand < ApplicationCommand
        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all)")
          options.on("--json", "a line of JSON for each #{self.class::ROW}")
          options.separator("\n#{self.class::NOTES}#{PARTIAL_NOTE}")
        end

        def perform
          answer = ask(groups: @options[:groups], topics: @options[:topics])
          print_rows(answer)
          report(answer.problems, named: [*@options[:topics]])
        end

        def seconds(row) = row.seconds && format("%.1f", row.seconds)
      end

      # `guildhall lag`: how far the application's consumer groups are behind.
      class Lag < GroupCommand
        ROW = "partition"
        HEADINGS = %w[GROUP TOPIC PARTITION COMMITTED END MESSAGES SECONDS].freeze
        NOTES = <<~TEXT
          SECONDS: the age of the oldest message that is not committed. MESSAGES is 0 if only control records of
          transactions follow the committed offset; between messages they are counted. COMMITTED with an exclamation mark
          lies beyond the END: the group will begin anew, as auto.offset.reset says.
        TEXT

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the lag of the application's consumer groups, from the broker"

        private

        def ask(**selection) = Kafka.application.lag(**selection)

        def cells(row)
          [row.group, row.topic, row.partition, "#{row.committed}#{"!" if row.beyond_end?}", row.end_offset, row.messages, seconds(row)]
        end

        def data(row) = {**row.to_h.transform_keys(&:to_s), "beyond_end" => row.beyond_end?}
      end

      # `guildhall keys`: the keys that wait because a message of theirs has failed.
      class Keys < GroupCommand
        ROW = "key"
        HEADINGS = %w[GROUP TOPIC PARTITION KEY OFFSET MESSAGES SECONDS].freeze
        NOTES = <<~TEXT
          OFFSET: of the first message that waits. MESSAGES: how many were passed over when the group last
          committed; messages in work count, too. SECONDS: the age of the first.
        TEXT
        MAX_KEY_CHARACTERS = 60

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the parked keys of topics that are ordered by key, from the broker"

        private

        def ask(**selection) = Kafka.application.parked_keys(**selection)

        def cells(row)
          key = row.key && Printable.words(row.key, MAX_KEY_CHARACTERS)
          [row.group, row.topic, row.partition, key, row.offset, row.messages, seconds(row)]
        end

        def data(row)
          {"group" => row.group, "topic" => row.topic, "partition" => row.partition, **text("key", row.key), "offset" => row.offset,
           "messages" => row.messages, "seconds" => row.seconds}
        end
      end
    end
  end
end
