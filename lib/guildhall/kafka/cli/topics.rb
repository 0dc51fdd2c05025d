# frozen_string_literal: true

require_relative "../routing/topic_config"
require_relative "cluster_command"
require_relative "moment"

module Guildhall
  module Kafka
    module CLI
      # `guildhall topics`: the topics of a cluster.
      class Topics < Guildhall::CLI::Family
        DIFFERENT = 4 # the exit status where topics are not as the routes say

        def self.summary = "List, show, create and change topics; compare them with the routes"
        def self.commands = [List, Show, Create, Grow, Config, Trim, Delete, Plan, Apply]

        # What the commands that take names of topics share.
        module Named
          private

          def arity = Float::INFINITY

          def call(arguments)
            raise Guildhall::ArgumentError, "which topic? Name one, or several #{see_help}" if names(arguments).empty?

            super
          end

          # @return [Array<String>] of the arguments
          def names(arguments = @arguments) = arguments.uniq

          # What fails for one topic is told, and the others are done.
          # @return [Integer] the exit status
          def each_name(list = names)
            failed = list.reject do |name|
              yield name
              true
            rescue UnreachableError
              raise
            rescue KafkaError, UnknownTopicError => error
              raise if list.one?

              @err.puts("guildhall: #{error.message}")
              false
            end
            failed.empty? ? 0 : 1
          end

          # As {#each_name}, of a change that cannot be taken back.
          # @param done [String] as of {ChangeCommand#accounting_for}
          def change_each(list, done)
            left = list.dup
            accounting_for(left, done) do
              each_name(list) do |name|
                left.shift until left.first == name # those that were refused have had a line of their own
                yield name
                left.shift
              end
            end
          end

          # @return [String] a topic that is to be deleted, or its messages
          def described(topic)
            count = topic.messages
            messages = count ? "about #{Printable.count(count, "message")}" : "messages not known"
            "#{topic.name} (#{Printable.count(topic.partitions.size, "partition")}, #{messages})"
          end
        end
        private_constant :Named

        # `guildhall topics list`
        class List < ClusterCommand
          HEADINGS = ["TOPIC", "PARTITIONS", "REPLICAS", "NOT IN SYNC", "NO LEADER"].freeze
          NOTES = <<~TEXT
            PATTERN: as files are named in a shell, such as 'orders.*' (in quotes). NOT IN SYNC, NO LEADER: how many
            partitions have fewer copies in sync than they should (under-replicated), or can be neither read nor written.
          TEXT
          private_constant :NOTES

          def self.summary = "List topics"

          private

          def arity = Float::INFINITY

          def define_options(options)
            options.banner = "usage: guildhall topics list [NAME|PATTERN…] [options]\n#{self.class.summary}\n\n"
            super
            options.on("--internal", "also Kafka's own, such as __consumer_offsets")
            options.on("--unhealthy", "only those with partitions that are under-replicated or have no leader")
            options.separator("\n#{NOTES}#{STATUSES}")
          end

          def perform
            topics = admin { |admin| admin.topics.list(internal: @options[:internal] || false) }
            wanted = @arguments.any? ? topics.select { |topic| @arguments.any? { |pattern| File.fnmatch(pattern, topic.name) } } : topics
            missing = @arguments.reject { |name| name.match?(/[*?\[]/) || topics.any? { |topic| topic.name == name } }
            raise UnknownTopicError.new(missing.first, topics.map(&:name)) if missing.any?

            print_rows(@options[:unhealthy] ? wanted.select { |topic| unhealthy?(topic) } : wanted)
          end

          def unhealthy?(topic) = topic.under_replicated.positive? || topic.without_leader.positive? || topic.error

          def cells(topic)
            return [topic.name, topic.error.code_name] if topic.error

            [topic.name, topic.partitions.size, topic.replicas, topic.under_replicated, topic.without_leader]
          end

          def data(topic)
            {"topic" => topic.name, "id" => topic.id, "internal" => topic.internal, "partitions" => topic.partitions.size,
             "replicas" => topic.replicas, "under_replicated" => topic.under_replicated, "without_leader" => topic.without_leader,
             "error" => topic.error&.message}
          end
        end

        # `guildhall topics show`
        class Show < ClusterCommand
          include Named

          HEADINGS = %w[PARTITION LEADER REPLICAS IN-SYNC BEGIN END].freeze
          NOTES = <<~TEXT
            REPLICAS, IN-SYNC: ids of brokers. BEGIN, END: the first offset that is there, and the one that the next
            message gets. FROM: the setting is the topic's own, in the brokers' configuration (broker), or Kafka's (default).
          TEXT
          private_constant :NOTES

          def self.summary = "Show a topic's partitions and settings"

          private

          def define_options(options)
            options.banner = "usage: guildhall topics show NAME… [options]\n#{self.class.summary}\n\n"
            super
            options.on("--all", "also settings that have Kafka's own value")
            options.separator("\n#{NOTES}#{STATUSES}")
          end

          def perform
            admin do |admin|
              each_name do |name|
                topic = admin.topics[name]
                next print_json(data(topic)) if @options[:json]

                @out.puts unless name == names.first
                @out.puts("#{topic.name}: id #{topic.id}#{", one of Kafka's own" if topic.internal}", "")
                print_rows(topic.partitions)
                topic.partitions.filter_map(&:error).each { |error| @err.puts("guildhall: #{error.message}") }
                rows = Config.rows(topic.settings.values, all: @options[:all])
                next unless rows.size > 1

                @out.puts
                print_table(rows)
              end
            end
          end

          def cells(partition)
            [partition.number, partition.leader || "none", partition.replicas.join(","), partition.in_sync.join(","),
             partition.begin_offset, partition.end_offset]
          end

          def data(topic)
            {"topic" => topic.name, "id" => topic.id, "internal" => topic.internal,
             "partitions" => topic.partitions.map { |partition| partition_data(partition) },
             "settings" => topic.settings.values.map { |setting| Config.data(setting) }}
          end

          def partition_data(partition)
            {"partition" => partition.number, "leader" => partition.leader, "replicas" => partition.replicas,
             "in_sync" => partition.in_sync, "begin" => partition.begin_offset, "end" => partition.end_offset,
             "error" => partition.error&.message}
          end
        end

        # `guildhall topics create`
        class Create < ChangeCommand
          include Named

          def self.summary = "Create topics"

          private

          def json? = false

          def define_options(options)
            options.banner = "usage: guildhall topics create NAME… [options]\n#{self.class.summary}\n\n"
            super
            options.on("-p", "--partitions N", Integer, "how many (default: as the brokers say)")
            options.on("--replicas N", Integer, "copies of each partition (default: as the brokers say)")
            options.on("-c", "--config NAME=VALUE", "a setting, such as retention.ms=86400000; may be repeated") do |pair|
              (@config ||= {}).store(*Config.pair(pair, see_help))
            end
            options.on("--if-missing", "a topic that is there is no error")
            options.separator("\n#{STATUSES}")
          end

          def perform
            wrong = names.find { |name| Settings::Rules::TOPIC_NAME.problem(name) }
            if wrong
              raise Guildhall::ArgumentError, "#{wrong.inspect} is no name of a topic: letters, digits, dots, underscores and hyphens, " \
                                              "249 at most #{see_help}"
            end

            admin do |admin|
              present = admin.topics.find(names).reject(&:error).map(&:name)
              each_name { |name| create(admin.topics, name, present.include?(name)) }
            end
          end

          def create(topics, name, present)
            return @out.puts("#{name} is there already") if present && @options[:"if-missing"]

            given = {partitions: @options[:partitions], replicas: @options[:replicas]}
            details = Routing::TopicConfig.new(**given, settings: @config || {}).to_s
            if dry_run?
              raise CommandError, "#{name} is there already" if present

              return @out.puts("#{name} would be created#{": #{details}" unless details.empty?}")
            end

            topics.create(name, **given, config: @config || {})
            @out.puts("#{name} is created#{": #{details}" unless details.empty?}")
          end
        end

        # `guildhall topics delete`
        class Delete < ChangeCommand
          include Named

          NOTES = <<~TEXT
            Nothing brings the messages back. Groups that consume the topic find it missing. All topics are looked for first: if
            one is missing, none is deleted, because its name may be another's.
          TEXT
          private_constant :NOTES

          def self.summary = "Delete topics, with their messages"

          private

          def json? = false

          def define_options(options)
            options.banner = "usage: guildhall topics delete NAME… [options]\n#{self.class.summary}\n\n"
            super
            options.on("--if-there", "a topic that is missing is no error")
            options.separator("\n#{NOTES}#{STATUSES}")
          end

          def perform
            admin do |admin|
              found = find(admin.topics) or next 2
              next @out.puts("nothing to delete") if found.empty?

              list = found.map { |topic| described(topic) }
              next list.each { |line| @out.puts("#{line} would be deleted") } if dry_run?
              next 1 unless agreed?("delete #{list.join(", ")}, with all messages?")

              change_each(found.map(&:name), "deleted") do |name|
                admin.topics.delete(name)
                @out.puts("#{name} is deleted")
              end
            end
          end

          # @return [Array<Topic>, nil] nil: some are missing, and were named
          def find(topics)
            missing = []
            found = names.filter_map do |name|
              topics[name]
            rescue UnknownTopicError => error
              missing << error
              nil
            end
            return found if missing.empty? || @options[:"if-there"]

            missing.each { |error| @err.puts("guildhall: #{error.message}") }
            @err.puts("guildhall: nothing was deleted; --if-there deletes the others") if found.any?
            nil
          end
        end

        # `guildhall topics grow`
        class Grow < ChangeCommand
          include Named

          NOTES = <<~TEXT
            From then on, messages with the same key go to other partitions than those before: their order is not kept
            across the change, and a compacted topic has such a key in two partitions. Partitions cannot be taken away again.
          TEXT
          private_constant :NOTES

          def self.summary = "Add partitions to topics"

          private

          def json? = false

          def define_options(options)
            options.banner = "usage: guildhall topics grow NAME… --partitions N [options]\n#{self.class.summary}\n\n"
            super
            options.on("-p", "--partitions N", Integer, "how many there are to be")
            options.separator("\n#{NOTES}#{STATUSES}")
          end

          def perform
            number = @options[:partitions] or raise Guildhall::ArgumentError, "how many partitions? --partitions N #{see_help}"
            admin do |admin|
              counts = names.to_h { |name| [name, admin.topics.describe(name).partitions.size] }
              wrong, before = counts.find { |_, count| count >= number }
              raise Guildhall::ArgumentError, "#{wrong} has #{before} partitions already, and cannot have fewer again" if wrong

              list = counts.map { |name, count| "#{name} (#{count} → #{number} partitions)" }
              next list.each { |line| @out.puts("#{line} would grow") } if dry_run?
              next 1 unless agreed?("grow #{list.join(", ")}? Messages with the same key go to other partitions from then on.")

              change_each(names, "changed") do |name|
                admin.topics.grow(name, partitions: number)
                @out.puts("#{name} has #{Printable.count(number, "partition")} now, #{counts[name]} before")
              end
            end
          end
        end

        # `guildhall topics config`
        class Config < ChangeCommand
          include Named

          HEADINGS = %w[SETTING VALUE FROM].freeze
          ACTIONS = %w[set unset].freeze
          HARMFUL = Routing::TopicSettings::HARMFUL
          private_constant :ACTIONS, :HARMFUL
          NOTES = <<~TEXT.freeze
            unset: the setting has the brokers' value again. It asks before it changes what may delete or lose messages:
            #{HARMFUL.join(", ")}.
          TEXT
          private_constant :NOTES

          def self.summary = "Show or change topics' settings"
          def self.words = ACTIONS

          # @return [Array(String, String)]
          def self.pair(text, help)
            name, value = text.split("=", 2)
            return [name, value] if value

            raise Guildhall::ArgumentError, "a setting is NAME=VALUE, such as retention.ms=86400000, not #{text.inspect} #{help}"
          end

          # @param all [Boolean, nil] also what is Kafka's own
          # @return [Array<Array>] a table
          def self.rows(settings, all:)
            shown = settings.select { |setting| all || setting.source != :default }
            [HEADINGS, *shown.map { |setting| [setting.name, setting.sensitive ? "(secret)" : setting.value, setting.source] }]
          end

          def self.data(setting)
            {"name" => setting.name, "value" => setting.value, "source" => setting.source.to_s, "read_only" => setting.read_only,
             "sensitive" => setting.sensitive}
          end

          private

          def define_options(options)
            options.banner = "usage: guildhall topics config NAME… [set SETTING=VALUE…] [unset SETTING…] [options]\n" \
                             "#{self.class.summary}\n\n"
            super
            options.on("--all", "also settings that have Kafka's own value")
            options.separator("\n#{NOTES}#{STATUSES}")
          end

          def call(arguments)
            @set = {}
            @unset = []
            action = nil
            @topics = arguments.reject do |argument|
              next action = argument if ACTIONS.include?(argument)

              case action
              when "set" then @set.store(*Config.pair(argument, see_help))
              when "unset" then @unset << argument
              end
              action
            end
            raise Guildhall::ArgumentError, "#{action} what? #{see_help}" if action && @set.empty? && @unset.empty?

            pair = @topics.find { |name| name.include?("=") }
            raise Guildhall::ArgumentError, "to change a setting: guildhall topics config NAME set #{pair}" if pair

            problems = Routing::TopicSettings.problems(@set)
            raise Guildhall::ArgumentError, "settings #{problems.join("; settings ")} #{see_help}" if problems.any?

            super
          end

          # The words between are settings.
          def names(_arguments = nil) = @topics.uniq

          def perform
            admin { |admin| @set.empty? && @unset.empty? ? show(admin.topics) : change(admin.topics) }
          end

          def show(topics)
            each_name do |name|
              settings = topics[name].settings.values
              next print_json({"topic" => name, "settings" => settings.map { |one| Config.data(one) }}) if @options[:json]

              @out.puts("#{"\n" unless name == names.first}#{name}") if names.size > 1
              print_table(Config.rows(settings, all: @options[:all]))
            end
          end

          def change(topics)
            before = names.to_h { |name| [name, topics[name].settings] }
            changes = before.flat_map { |name, settings| changes(name, settings) }
            return @out.puts("nothing to change") if changes.empty?
            return @out.puts(changes) if dry_run?

            @err.puts(changes)
            harmful = [*@set.keys, *@unset] & HARMFUL
            return 1 if harmful.any? && !agreed?("change #{harmful.join(", ")}? Messages may be deleted, or lost.")

            each_name do |name|
              topics.configure(name, set: @set, unset: @unset)
              @out.puts("#{name} is changed")
            end
          end

          # @return [Array<String>] lines; values that are there already are left out
          # @raise [Guildhall::ArgumentError] for a setting that the brokers do not know
          def changes(name, settings)
            {**@set, **@unset.to_h { |setting| [setting, nil] }}.filter_map do |setting, value|
              there = settings.fetch(setting) do
                raise Guildhall::ArgumentError, "#{name} has no setting #{setting}#{Suggestion.for(setting, settings.keys)}"
              end
              own = there.source == :topic
              next if value ? own && Routing::TopicSettings.same?(setting, there.value, value) : !own

              "~ #{name}: #{setting} #{there.value}#{" (#{there.source})" unless own} → #{value || "as the brokers say"}"
            end
          end
        end

        # `guildhall topics trim`
        class Trim < ChangeCommand
          include Named

          def self.summary = "Delete a topic's messages before an offset or a time"

          private

          def json? = false
          def arity = 1

          def define_options(options)
            options.banner = "usage: guildhall topics trim NAME --before OFFSET|TIME|end [options]\n#{self.class.summary}\n\n"
            super
            options.on("--before PLACE", "an offset; a time, or how long ago; or end: all that are there")
            options.on("-p", "--partition N,M", Array, "only these partitions (default: all)")
            options.separator("\nA time: #{Moment::EXPLAINED}.\nNothing brings the messages back.\n#{STATUSES}")
          end

          def perform
            text = @options[:before] or raise Guildhall::ArgumentError, "before what? --before OFFSET|TIME|end #{see_help}"
            before = Moment.until(text, option: "--before")
            numbers = partitions
            admin do |admin|
              topic = admin.topics[names.first]
              question = "delete messages of #{described(topic)} before #{text}"
              next @out.puts("would #{question}") if dry_run?
              next 1 unless agreed?("#{question}?")

              left = accounting_for([topic.name], "trimmed") { admin.topics.trim(topic.name, before:, partitions: numbers) }
              left.each { |partition, offset| @out.puts("#{topic.name}/#{partition} begins at offset #{offset}") }
              nil
            end
          end
        end

        # What both commands about the routes share: the application is loaded in any case, and the cluster may be another one.
        module OfRoutes
          private

          def cluster_alone? = false

          def different(changes) = changes.any? ? DIFFERENT : 0

          def summary_of(changes)
            counts = changes.map(&:kind).tally
            words = {create: "to create", change: "to change", impossible: "that cannot be done"}
            words.filter_map { |kind, text| "#{counts[kind]} #{text}" if counts[kind] }.join(", ")
          end

          def print_plan(plan, io)
            return @out.puts("the topics are as the routes say") if plan.empty? && !@options[:json]

            plan.changes.each { |change| @options[:json] ? print_json(change.to_json_members) : io.puts(change.to_s) }
            io.puts(summary_of(plan.changes)) unless @options[:json]
          end
        end
        private_constant :OfRoutes

        # `guildhall topics plan`
        class Plan < ClusterCommand
          include OfRoutes

          NOTES = <<~TEXT
            + is missing, ~ differs (old → new), ! differs, and cannot be changed. Compared is what routes say with `config`,
            and that topics for retries, delays, schedules and dead letters exist. Nothing is ever deleted.
          TEXT
          private_constant :NOTES

          def self.summary = "Compare the topics with what the routes declare; change nothing"

          private

          def define_options(options)
            super
            options.on("--check", "exit status #{DIFFERENT} where they differ")
            options.separator("\n#{NOTES}#{STATUSES}; #{DIFFERENT} with --check: they differ")
          end

          def perform
            plan = admin { |admin| admin.topics.plan }
            print_plan(plan, @out)
            @options[:check] ? different(plan.changes) : 0
          end
        end

        # `guildhall topics apply`
        class Apply < ChangeCommand
          include OfRoutes

          NOTES = <<~TEXT
            It prints the plan, asks, and makes the changes; where one fails, the others are made. What cannot be done (!) is
            left. Done again, it finds nothing to do. Nothing is ever deleted.
          TEXT
          private_constant :NOTES

          def self.summary = "Create and change topics as the routes declare them"

          private

          def json? = false

          def define_options(options)
            super
            options.separator("\n#{NOTES}#{STATUSES}; #{DIFFERENT} done, but for what cannot be done")
          end

          def perform
            admin do |admin|
              plan = admin.topics.plan
              print_plan(plan, dry_run? ? @out : @err)
              next different(plan.changes) if dry_run? || plan.possible.empty?
              next 1 unless agreed?("make #{plan.possible.one? ? "this change" : "these #{plan.possible.size} changes"}?")

              done = plan.apply do |change, error|
                error ? @err.puts("guildhall: #{change.topic}: #{error.message}") : @out.puts("done: #{change}")
              end
              done ? different(plan.changes - plan.possible) : 1
            end
          end
        end
      end
    end
  end
end
