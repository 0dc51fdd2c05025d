# frozen_string_literal: true

require "guildhall/printable"
require_relative "cluster_command"
require_relative "moment"

module Guildhall
  module Kafka
    module CLI
      # `guildhall offsets`: what consumer groups have committed.
      class Offsets < Guildhall::CLI::Family
        def self.summary = "Show and reset the committed offsets of a consumer group"
        def self.commands = [Show, Reset, Delete]

        # The options and arguments of all commands about the offsets of one group.
        module OfGroup
          private

          def arity = 1

          def define_options(options)
            super
            options.on("-t", "--topic A,B", Array, "only these topics")
            options.on("-p", "--partition N,M", Array, "only these partitions")
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "of which group? #{see_help}" if arguments.empty?

            partitions
            super
          end

          def group = @arguments.first
          def topics = @options[:topic]
        end
        private_constant :OfGroup

        # `guildhall offsets show`
        class Show < ClusterCommand
          include OfGroup

          HEADINGS = %w[TOPIC PARTITION COMMITTED BEGIN END MESSAGES DONE METADATA].freeze
          NOTES = <<~TEXT

            MESSAGES: offsets between the committed one and the end. DONE: of these, how many are done already, behind a message that
            waits. COMMITTED with an exclamation mark lies beyond the END. guildhall keys prints the keys that wait.
          TEXT
          MAX_METADATA_CHARACTERS = 40

          def self.arguments = "GROUP"
          def self.summary = "Print what a consumer group has committed, and which offsets there are"

          private

          def define_options(options)
            super
            options.separator("#{NOTES}\n#{STATUSES}")
          end

          def perform
            answer = admin do |admin|
              rows = admin.offsets.of(group, topics:, partitions:)
              admin.groups[group] if rows.none?(&:committed)
              rows
            end
            print_rows(answer)
            report(answer.problems, named: [*topics])
          end

          def cells(row)
            committed = row.committed && "#{row.committed}#{"!" if row.beyond_end?}"
            [row.topic, row.partition, committed, row.begin_offset, row.end_offset, row.messages,
             (row.done.sum(&:size) if row.done.any?), row.metadata && Printable.words(row.metadata, MAX_METADATA_CHARACTERS)]
          end

          def data(row)
            done, passed_over = [row.done, row.passed_over].map { |ranges| ranges.map { |range| [range.begin, range.end - 1] } }
            {**row.to_h.except(:metadata, :done).transform_keys(&:to_s), **text("metadata", row.metadata),
              "beyond_end" => row.beyond_end?, "done" => done, "passed_over" => passed_over}
          end
        end

        # `guildhall offsets reset`
        class Reset < ChangeCommand
          include OfGroup

          HEADINGS = %w[TOPIC PARTITION COMMITTED NEW BEGIN END SKIPPED AGAIN].freeze
          NAMED_KEYS = 10
          MAX_KEY_CHARACTERS = 40
          NOTES = <<~TEXT.freeze

            --to takes
              earliest, latest  the first offset that is there; the end, as it is now
              1234              this offset
              a time            the first message at or after it, else the end: #{Moment::EXPLAINED.sub(", @", ",\n                                @")}
              -100, +1          so many offsets back, or on, from what is committed

            Without --topic: all partitions of all topics in which the group has committed something. An offset that the partition
            does not have becomes the nearest one (NEW with an exclamation mark). SKIPPED: what the group will never read; AGAIN: what
            it has done and will read again, also what was done behind a key that waits: that note is dropped, as is metadata. Offsets
            are counted: marks of transactions, and what compaction has removed, have some, too.

            The group must have no members; those that live are named. Clients that read without joining the group (`assign`) do not
            show. Nothing is changed if the group commits between the plan and your answer.
          TEXT

          def self.arguments = "GROUP"
          def self.summary = "Set the committed offsets of a consumer group: to an offset, a time, or some messages back"

          private

          def define_options(options)
            options.on("--to WHERE", "earliest, latest, an offset, a time, how long ago, or -100: see below")
            super
            options.on("--create", "also if there is no such group yet, or it has committed nothing; default topics: those of its routes")
            options.separator("#{NOTES}\n#{STATUSES}")
          end

          def call(arguments)
            target
            super
          end

          def target
            Moment.target(@options[:to] || raise(Guildhall::ArgumentError, "say where with --to #{see_help}"))
          end

          def perform
            admin do |admin|
              plan = plan(admin)
              @plan = plan
              print_rows(plan.steps)
              @err.puts(summary(plan), *parked(plan))
              next if plan.changes.empty?

              admin.groups.empty!(group, "be given other offsets") # before somebody thinks about the question
              next if dry_run?
              next 1 unless agreed?("reset #{Printable.count(plan.changes.size, "offset")} of #{group}?")

              plan.apply
              @err.puts("#{Printable.count(plan.changes.size, "offset")} set")
            end
          end

          def plan(admin)
            admin.offsets.plan(group, **target, topics: topics || routed, partitions:, create: @options[:create] || false)
          rescue UnknownGroupError => error
            raise Guildhall::ArgumentError, "#{error.message}; --create commits offsets for a group that is new"
          end

          def routed
            return unless @options[:create]

            names = Kafka.routes.latest_topics.select { |topic| topic.group == group && !topic.pattern? }.map(&:name)
            names if names.any?
          end

          def summary(plan)
            return "#{group}: there is nothing to change" if plan.changes.empty?

            "#{group}: #{plan.changes.size} of #{plan.steps.size} partitions change, #{plan.skipped} messages are skipped, " \
              "#{plan.again} come again"
          end

          # @return [Array<String>] lines about the keys that wait
          def parked(plan)
            {"wait and would never be handled" => plan.parked_skipped, "wait and come again with what follows" => plan.parked_again}
              .reject { |_, rows| rows.empty? }.map do |what, rows|
                keys = rows.first(NAMED_KEYS).map do |row|
                  key = row.key ? Printable.words(row.key, MAX_KEY_CHARACTERS) : "without key"
                  "#{key} (#{row.topic}/#{row.partition}@#{row.offset}, #{row.messages})"
                end
                more = ", and #{rows.size - NAMED_KEYS} more" if rows.size > NAMED_KEYS
                "#{rows.sum(&:messages)} messages of #{Printable.count(rows.size, "key")} #{what}: #{keys.join(", ")}#{more}"
              end
          end

          def cells(step)
            place = step.to && "#{step.to}#{"!" if step.clamped}"
            [step.topic, step.partition, step.from, place, step.begin_offset, step.end_offset, step.skipped, step.again]
          end

          def data(step)
            parked = {"parked_skipped" => @plan.parked_skipped, "parked_again" => @plan.parked_again}.transform_values do |rows|
              rows.select { |row| [row.topic, row.partition] == step.place }
                .map { |row| {**text("key", row.key), "offset" => row.offset, "messages" => row.messages} }
            end
            {"group" => group, **step.to_h.slice(:topic, :partition, :from, :to, :begin_offset, :end_offset, :skipped, :again, :clamped)
              .transform_keys(&:to_s), "change" => step.change?, **parked}
          end
        end

        # `guildhall offsets delete`
        class Delete < ChangeCommand
          include OfGroup

          NOTES = <<~TEXT

            The group then begins in this topic as auto.offset.reset (in a route: initial_offset) says. It may have members, unless they
            have subscribed to the topic.
          TEXT

          def self.arguments = "GROUP --topic TOPIC"
          def self.summary = "Forget what a consumer group has committed for a topic"

          private

          def json? = false

          def define_options(options)
            super
            options.separator("#{NOTES}\n#{STATUSES}")
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "name the topic with --topic #{see_help}" unless topics

            super
          end

          def perform
            admin do |admin|
              admin.groups[group]
              rows = admin.offsets.of(group, topics:, partitions:).select(&:committed)
              @err.puts("#{group} has committed offsets of #{rows.size} partitions of #{topics.join(", ")}")
              next if dry_run? || rows.empty?
              next 1 unless agreed?("forget them?")

              topics.each { |topic| admin.groups.delete_offsets(group, topic, partitions:) }
              @err.puts("they were forgotten")
            end
          end
        end
      end
    end
  end
end
