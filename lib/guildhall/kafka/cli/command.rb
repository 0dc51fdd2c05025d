# frozen_string_literal: true

require "etc"
require_relative "../process_name"
require_relative "cluster_command"
require_relative "moment"

module Guildhall
  module Kafka
    module CLI
      # `guildhall command`: commands to running processes.
      class Command < Guildhall::CLI::Family
        def self.summary = "Pause, retry, seek, stop: commands to running processes, where they allow it (config.commands)"
        def self.commands = [Keys, Pause, Resume, Retry, Seek, Quiet, Stop, Trace]

        # `guildhall command keys`
        class Keys < Guildhall::CLI::Command
          NOTES = <<~TEXT

            The processes that take commands get the first one: config.commands = {public_key: ENV["GUILDHALL_COMMANDS_KEY"]}. The dashboard
            and whoever uses guildhall command get the second one, and nobody else: who has it may stop every process. A pair for each
            cluster. OpenSSL makes the same: openssl genpkey -algorithm ed25519, and openssl pkey -pubout.
          TEXT

          def self.summary = "Print a new pair of keys, as variables of the environment"

          private

          def define_options(options) = options.separator(NOTES)

          def call(_arguments)
            require "guildhall/kafka"
            require_relative "../commanding/keys"
            private_key, public_key = Commanding::Keys.generate
            @out.puts("#{Commanding::Keys::PUBLIC}=#{public_key}", "#{Commanding::Keys::PRIVATE}=#{private_key}")
          end
        end

        # The base of those that send one.
        class Sending < ClusterCommand
          PROCESS = /\A.+:\d+:\w+\z/
          PARTITION = %r{\A(?<topic>[\w.-]+)(?:/(?<partition>\d+))?\z}
          NOTES = <<~TEXT

            It is signed with the private key in GUILDHALL_COMMANDS_PRIVATE_KEY of the environment (guildhall command keys prints a pair).
            A process carries it out at most once, within 30 s or never, and says what became of it in the topic of reports; with who and
            why, so do its log and the dashboard.

            Exit status: 0 done; 1 refused, failed, or no process has answered; 2 wrong usage; 78 wrong configuration
          TEXT
          private_constant :PROCESS, :PARTITION, :NOTES

          WAIT_SECONDS = 10
          private_constant :WAIT_SECONDS

          def self.action = command_name.split.last.to_sym
          def self.arguments = [*("TOPIC/PARTITION|TOPIC" if partitions?), *("PROCESS" if processes?)].join("|")
          # What it is for.
          def self.partitions? = true
          def self.processes? = false

          private

          def arity = 1

          def define_options(options)
            super
            options.on("-g", "--group NAME", "the consumer group (default: that of the topic's route)") if self.class.partitions?
            options.on("--why TEXT", "the reason, which logs and the dashboard show")
            options.on("--by NAME", "who wants it (default: #{by})")
            options.on("--wait SECONDS", Float, "how long to wait for an answer (default: #{WAIT_SECONDS})")
            options.on("--commands-topic NAME", "default: that of the application, or guildhall.commands")
            options.on("--reports-topic NAME", "where answers come: default: that of the application, or guildhall.reports")
            options.on("--insecure", "do not sign it: for processes with insecure: true")
            options.separator(NOTES)
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "say why, with --why TEXT #{see_help}" if @options[:why].to_s.strip.empty?
            if arguments.empty? && !@options[:group]
              raise Guildhall::ArgumentError, "#{self.class.action} needs a target: #{self.class.arguments} #{see_help}"
            end

            super
          end

          def perform
            answer = issue(target) or return 1
            answer.outcomes.each { |outcome| print(outcome) }
            return answer.done? ? 0 : 1 if answer.outcomes.any?

            @err.puts("guildhall: no process has answered. Either none that takes commands (config.commands) has this target, or the " \
                      "public key there does not belong to this private one, or their answers cannot be written (config.reports): the " \
                      "processes' logs say which. After #{answer.command.expires} s it has expired")
            1
          rescue Interrupt
            @err.puts("guildhall: if it was sent by now, it may still be carried out")
            raise
          end

          # @return [Commanding::Commander::Answer, nil] nil: it was not sent
          def issue(target)
            commander.issue(self.class.action, target, by: @options.fetch(:by, by), why: @options[:why], args:, expect:,
              wait: @options.fetch(:wait, WAIT_SECONDS))
          end

          def args = {}
          def expect = {}

          def print(outcome)
            data = {"process" => outcome.process, "outcome" => outcome.outcome.name, "reason" => outcome.reason}
            @options[:json] ? print_json(data) : @out.puts("#{outcome.outcome} by #{outcome.process}: #{outcome.reason}")
          end

          def commander
            Kafka.application.commander(private_key:, topic: @options[:"commands-topic"], reports: @options[:"reports-topic"])
          end

          # @return [String, nil] nil: it is not signed
          def private_key
            return if @options[:insecure]

            require_relative "../commanding/keys"
            ENV.fetch(Commanding::Keys::PRIVATE, nil).tap { |text| Commanding::Keys.private(text) }
          rescue Guildhall::ArgumentError => error
            raise ConfigurationError, "#{Commanding::Keys::PRIVATE} of the environment #{error.message} #{see_help}"
          end

          # @return [Hash{Symbol=>Object}]
          def target
            text = @arguments.first
            return {process: text} if text && self.class.processes? && (text.match?(PROCESS) || !self.class.partitions?)
            return {group: @options[:group]} unless text

            found = PARTITION.match(text) or
              raise Guildhall::ArgumentError, "a target is #{self.class.arguments}, such as orders/3, not #{text} #{see_help}"
            {group: @options[:group] || group_of(found[:topic]), topic: found[:topic], partition: found[:partition]&.to_i}.compact
          end

          def group_of(topic)
            routes = application? ? Kafka.routes.latest_topics : []
            groups = routes.select { |route| route.consumed? && route.match?(topic) }.map(&:group).uniq
            return groups.first if groups.one?
            if application? && groups.empty?
              raise Guildhall::ArgumentError, "no route consumes #{topic}: correct its name, or say --group NAME #{see_help}"
            end

            raise Guildhall::ArgumentError, "which consumer group? --group NAME#{": #{groups.join(" or ")}" if groups.any?} #{see_help}"
          end

          def by = "#{Etc.getpwuid&.name || Process.uid}@#{ProcessName.host}"
        end

        # `guildhall command pause`
        class Pause < Sending
          DURATION = /\A(\d+(?:\.\d+)?)([smh])\z/
          UNITS = {"s" => 1, "m" => 60, "h" => 3_600}.freeze
          private_constant :DURATION, :UNITS

          def self.summary = "Pause partitions: nothing new of them is consumed, until the time is over, they are resumed, or move"

          private

          def define_options(options)
            options.on("--for DURATION", "90s, 30m or 2h: 24h at most")
            super
          end

          def args
            number, unit = DURATION.match(@options[:for].to_s)&.captures
            raise Guildhall::ArgumentError, "a pause has an end: --for 90s, 30m or 2h #{see_help}" unless number

            {seconds: Float(number) * UNITS.fetch(unit)}
          end
        end

        # `guildhall command resume`
        class Resume < Sending
          def self.summary = "End what pause, or quiet, has begun; what a consumer has paused itself stays paused"
          def self.processes? = true
        end

        # `guildhall command retry`
        class Retry < Sending
          def self.summary = "Try again now what a partition, or its parked keys, back off for"
        end

        # `guildhall command seek`
        class Seek < Sending
          def self.summary = "Move one partition to another position, where it stands still (pause it first)"
          def self.arguments = "TOPIC/PARTITION"

          private

          def define_options(options)
            options.on("--to PLACE", "an offset, earliest, latest, -100 or +100 (from where it is), or a time")
            options.on("-y", "--yes", "do not ask")
            super
          end

          def call(arguments)
            raise Guildhall::ArgumentError, "seek needs --to PLACE #{see_help}" unless @options[:to]

            @place = Moment.target(@options[:to])
            super
          end

          # Says what it skips and what it repeats, and asks.
          def issue(target)
            raise Guildhall::ArgumentError, "seek is for one partition, such as orders/3 #{see_help}" unless target.key?(:partition)

            group, topic, partition = target.values_at(:group, :topic, :partition)
            @row = admin { |admin| admin.offsets.plan(group, topics: [topic], partitions: [partition], **@place).steps.first }
            unless @row&.from
              raise CommandError, "group #{group} has committed nothing for #{topic}/#{partition}: there is no position to go from"
            end

            @err.puts("guildhall: #{topic}/#{partition}: from #{@row.from} to #{@row.to}: " \
                      "#{Printable.count(@row.skipped, "offset")} never consumed, #{@row.again} consumed again")
            super if agreed?
          end

          def args = {to: @row.to}
          def expect = {position: @row.from}

          def agreed?
            return true if @options[:yes]
            raise Guildhall::ArgumentError, "nobody is there to answer: add --yes #{see_help}" unless $stdin.tty?

            @err.print("Go on? [y/N] ")
            %w[y yes].include?($stdin.gets.to_s.strip.downcase).tap { |yes| @err.puts("nothing was changed") unless yes }
          end
        end

        # `guildhall command quiet`
        class Quiet < Sending
          def self.summary = "Have a process begin no new work, until it is resumed; it stays in its groups"
          def self.partitions? = false
          def self.processes? = true
        end

        # `guildhall command stop`
        class Stop < Sending
          def self.summary = "Stop a process in order; what supervises it may start another one"
          def self.partitions? = false
          def self.processes? = true
        end

        # `guildhall command trace`
        class Trace < Sending
          def self.summary = "Have a process write to its log where each of its threads is"
          def self.partitions? = false
          def self.processes? = true
        end
      end
    end
  end
end
