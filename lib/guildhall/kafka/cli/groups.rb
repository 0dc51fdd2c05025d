# frozen_string_literal: true

require_relative "cluster_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall groups`: consumer groups.
      class Groups < Guildhall::CLI::Family
        def self.summary = "List, show, delete, copy and rename consumer groups"
        def self.commands = [List, Show, Members, Delete, Copy, Rename]

        # The tables of both {List} and {Show}.
        module Words
          # @return [String, nil]
          def words(symbol) = symbol&.to_s&.tr("_", " ")

          # For JSON.
          def group_data(group)
            {"group" => group.name, "state" => group.state.to_s, "protocol" => group.protocol&.to_s, "assignor" => group.assignor,
             "coordinator" => group.coordinator&.to_h&.transform_keys(&:to_s)}
          end

          # For JSON.
          def member_data(member)
            {"id" => member.id, "client_id" => member.client_id, "host" => member.host, "instance_id" => member.instance_id,
             "partitions" => member.partitions, "target" => member.target}
          end
        end
        private_constant :Words

        # `guildhall groups list`
        class List < ClusterCommand
          include Words

          HEADINGS = %w[GROUP STATE PROTOCOL MEMBERS COORDINATOR].freeze
          NOTES = <<~TEXT

            With an application: the groups of its routes, also those that are not there yet ("dead"). Without one: all groups that
            you may describe. A group of the consumer protocol (KIP-848) that rebalances is "reconciling".
          TEXT

          def self.summary = "Print consumer groups: state, protocol, number of members"

          private

          def define_options(options)
            super
            options.on("-a", "--all", "with an application: all groups of the cluster")
            options.separator("#{NOTES}\n#{STATUSES}")
          end

          def perform
            own = Kafka.routes.latest_topics.map(&:group).uniq if application? && !@options[:all]
            answer = admin { |admin| admin.groups.list(own) }
            print_rows(answer)
            report(answer.problems)
          end

          def cells(group)
            [group.name, words(group.state), group.protocol, group.members&.size, (group.coordinator if group.exist?)]
          end

          def data(group) = {**group_data(group), "members" => group.members&.size}
        end

        # `guildhall groups show`
        class Show < ClusterCommand
          include Words

          HEADINGS = %w[CLIENT HOST INSTANCE PARTITIONS ASSIGNED].freeze

          def self.arguments = "NAME"
          def self.summary = "Print one consumer group: state, coordinator, lag, members"

          private

          def arity = 1

          def define_options(options)
            super
            options.separator("\nguildhall offsets show NAME prints the partitions.\n\n#{STATUSES}")
          end

          def perform
            name = @arguments.first or raise Guildhall::ArgumentError, "which group? #{see_help}"
            group, offsets = admin { |admin| [admin.groups[name], admin.offsets.of(name)] }
            if @options[:json]
              print_json({**group_data(group), **lag(offsets), "members" => group.members.map do |one|
                member_data(one)
              end})
            else
              print_group(group, offsets)
            end
            report(offsets.problems)
          end

          def lag(offsets)
            {"topics" => offsets.map(&:topic).uniq, "partitions" => offsets.size, "messages" => offsets.sum(&:messages)}
          end

          def print_group(group, offsets)
            protocol = [group.protocol, *group.assignor].compact.join(", ")
            rows = {"group" => group.name, "state" => words(group.state), "protocol" => protocol,
                    "coordinator" => group.coordinator, "topics" => offsets.map(&:topic).uniq.join(", "),
                    "lag" => "#{offsets.sum(&:messages)} messages in #{offsets.size} partitions", "members" => group.members.size}
            @out.puts(TextTable.lines(rows.map { |name, value| ["#{name}:", value.to_s.empty? ? "-" : value] }))
            return if group.members.empty?

            @out.puts
            print_rows(group.members)
          end

          def cells(member)
            assigned = member.partitions.map { |topic, numbers| "#{topic}: #{Printable.runs(numbers)}" }.join("; ")
            [member.client_id, member.host, member.instance_id, member.partition_count, (assigned unless assigned.empty?)]
          end
        end

        # `guildhall groups members`
        class Members < ClusterCommand
          include Words

          HEADINGS = %w[CLIENT HOST INSTANCE TOPIC PARTITIONS ID].freeze
          Row = Data.define(:member, :topic, :numbers)
          private_constant :Row

          def self.arguments = "NAME"
          def self.summary = "Print the members of a consumer group, and which partitions they have"

          private

          def arity = 1

          def define_options(options)
            super
            options.separator("\n#{STATUSES}")
          end

          def perform
            name = @arguments.first or raise Guildhall::ArgumentError, "which group? #{see_help}"
            members = admin { |admin| admin.groups[name].members }
            return members.each { |member| print_json({"group" => name, **member_data(member)}) } && nil if @options[:json]

            print_rows(members.flat_map { |member| rows(member) })
          end

          def rows(member)
            rows = member.partitions.map { |topic, numbers| Row.new(member:, topic:, numbers:) }
            rows.empty? ? [Row.new(member:, topic: nil, numbers: nil)] : rows
          end

          def cells(row)
            [row.member.client_id, row.member.host, row.member.instance_id, row.topic, row.numbers && Printable.runs(row.numbers),
             row.member.id]
          end
        end

        # `guildhall groups delete`
        class Delete < ChangeCommand
          def self.arguments = "NAME…"
          def self.summary = "Delete consumer groups that have no members, with their offsets"

          private

          def arity = Float::INFINITY
          def json? = false

          def define_options(options)
            super
            options.separator("\n#{STATUSES}")
          end

          def perform
            raise Guildhall::ArgumentError, "which group? #{see_help}" if @arguments.empty?

            names = @arguments.uniq
            admin do |admin|
              names.each { |name| @err.puts(described(admin, name)) }
              next if dry_run?
              next 1 unless agreed?("delete #{names.join(", ")}, with what #{names.one? ? "it has" : "they have"} committed?")

              accounting_for(names, "deleted") do
                admin.groups.delete(*names) { |name| names.shift && @out.puts("#{name} was deleted") }
              end
            end
          end

          def described(admin, name)
            admin.groups.empty!(admin.groups[name], "be deleted")
            rows = admin.offsets.of(name)
            topics = rows.map(&:topic).uniq
            what = rows.empty? ? "nothing" : "offsets of #{rows.count(&:committed)} partitions of #{topics.join(", ")}"
            "#{name} has committed #{what}"
          end
        end

        # The base of {Copy} and {Rename}.
        class CopyCommand < ChangeCommand
          HEADINGS = %w[TOPIC PARTITION HAS NEW DONE].freeze

          def self.arguments = "FROM TO"

          private

          def arity = 2

          def define_options(options)
            super
            options.separator("\n#{self.class::NOTES}\n#{STATUSES}")
          end

          def perform
            from, to = @arguments
            raise Guildhall::ArgumentError, "from which group to which? #{see_help}" unless to

            admin do |admin|
              plan = admin.offsets.copy_plan(from, to)
              print_rows(plan.steps)
              next if dry_run?
              next 1 unless allowed?(plan, from, to)

              change(admin, from, to)
              @err.puts("#{plan.steps.size} offsets were copied from #{from} to #{to}")
            end
          end

          def cells(step) = [step.topic, step.partition, step.from, step.to, (step.done.sum(&:size) if step.done.any?)]

          def data(step)
            {"topic" => step.topic, "partition" => step.partition, "from" => step.from, "to" => step.to, "metadata" => step.metadata,
             "done" => step.done.map { |range| [range.begin, range.end - 1] }}
          end
        end

        # `guildhall groups copy`
        class Copy < CopyCommand
          NOTES = <<~TEXT
            What FROM has committed now is committed for TO, with metadata and what is done behind the offsets (DONE). FROM may have
            members; TO may have none. Where TO has committed something (HAS), it is replaced, after a question.
          TEXT

          def self.summary = "Commit for a consumer group what another one has committed"

          private

          def allowed?(plan, _from, to)
            plan.steps.none?(&:from) || agreed?("replace what #{to} has committed: #{plan.skipped} messages skipped, #{plan.again} again?")
          end

          def change(admin, from, to) = admin.groups.copy(from, to, overwrite: true)
        end

        # `guildhall groups rename`
        class Rename < CopyCommand
          NOTES = <<~TEXT
            Kafka has no renaming: the offsets are copied, the copy is verified, then FROM is deleted. That is not atomic: if it fails
            between, both groups are there, and the error says so. Neither may have members, and TO may have committed nothing.
          TEXT

          def self.summary = "Copy a consumer group's offsets to another name, then delete it"

          private

          def allowed?(_plan, from, to) = agreed?("rename #{from} to #{to}: copy, verify, delete #{from}?")
          def change(admin, from, to) = admin.groups.rename(from, to)
        end
      end
    end
  end
end
