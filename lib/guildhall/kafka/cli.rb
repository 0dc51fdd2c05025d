# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/suggestion"
require_relative "cli/application_command"
require_relative "cli/cluster_command"
require_relative "logging"

module Guildhall
  module Kafka
    # The commands that this gem adds to `guildhall`.
    # @api private
    module CLI
      def self.commands
        [Check, Server, Swarm, Top, Routes, Topics, Groups, Offsets, Cluster, Lag, Keys, Dlq, Outbox, Schedule, Command, Metrics, Read,
         Produce, Profiles]
      end

      # `guildhall server`: consumes until SIGINT, SIGTERM, SIGQUIT or SIGHUP.
      class Server < ApplicationCommand
        def self.summary = "Consume the application's topics until SIGINT or SIGTERM"

        # With `--log-format json`, an error of the arguments, of the application's file or of its configuration is printed as JSON, too.
        def run(arguments)
          super
        rescue StandardError, ScriptError => error
          raise unless json?(arguments)

          known = error.is_a?(Guildhall::Error)
          message = known ? "guildhall: #{error.message}" : error.full_message(highlight: false)
          @err.write(Logging::JSONFormatter.new.call("FATAL", Time.now, nil, message))
          known ? Guildhall::CLI.status(error) : 1
        end

        private

        def runs_application? = true

        def json?(arguments)
          @options[:"log-format"] == "json" || arguments.include?("--log-format=json") ||
            arguments.each_cons(2).include?(%w[--log-format json])
        end

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all), also of a pattern")
          options.on("--exclude-groups A,B", Array, "without these consumer groups")
          options.on("--exclude-topics A,B", Array, "without these topics, also of a pattern")
          options.on("-c", "--concurrency N", Integer, "runner threads, instead of the application's setting")
          options.on("--log-format FORMAT", Logging::FORMATS, "text or json, to standard output; overrides config.logger")
          options.on("--log-level LEVEL", Logging::LEVELS, "#{Logging::LEVELS.join(", ")}: to standard output; overrides config.logger")
        end

        def call(arguments)
          number = @options[:concurrency]
          raise Guildhall::ArgumentError, "--concurrency must be 1 or more, not #{number} #{see_help}" if number&.<(1)

          super
        end

        def perform
          Kafka.config.concurrency = @options[:concurrency] if @options[:concurrency]
          set_logger
          consume(groups: @options[:groups], topics: @options[:topics], exclude_groups: @options[:"exclude-groups"],
            exclude_topics: @options[:"exclude-topics"])
        end

        def consume(**selection) = Kafka.run(**selection)

        def set_logger
          chosen = {format: @options[:"log-format"], level: @options[:"log-level"]}.compact
          logger = Logging.logger(@out, **chosen)
          return Kafka.config.logger = logger if chosen.any?

          own = Kafka.application.default_logger
          own.respond_to?(:log_to) ? own.log_to(@out) : Kafka.application.default_logger = logger
        end
      end

      # `guildhall swarm`: `guildhall server` in several processes.
      class Swarm < Server
        def self.summary = "Consume the application's topics in several processes until SIGINT or SIGTERM"

        private

        def define_options(options)
          super
          options.on("-p", "--processes N", Integer, "how many (default: one for each core)")
          options.on("--memory-limit MB", Float, "a process with more resident memory is replaced (default: none)")
        end

        def consume(**selection)
          Kafka.swarm(processes: @options[:processes], memory_limit: @options[:"memory-limit"], **selection)
        end
      end

      # `guildhall routes`: prints groups, topics and consumers, or the rights that they need.
      class Routes < ApplicationCommand
        ACLS_NOTES = <<~TEXT
          --acls prints commands for a shell, one for each topic, group and transactional id. They name admin.properties, a file
          with the settings of a user who may grant rights. Nothing is granted by this command, and no broker is asked.
        TEXT
        # kafka-acls.sh's options for a resource
        ACL_OPTIONS = {topic: "--topic", group: "--group", transactional_id: "--transactional-id"}.freeze
        UNKNOWN_TOPICS = "Not known from routes: topics that your code produces to and no route names (WRITE on each). Brokers before " \
                         "2.8 also want IDEMPOTENT_WRITE on the cluster of whoever produces."
        private_constant :ACL_OPTIONS, :UNKNOWN_TOPICS

        def self.summary = "Check the application's settings and routes; print its consumer groups, topics and consumers"

        private

        def define_options(options)
          super
          options.on("--json", "a line of JSON for each topic or pattern; with --acls, for each grant. decoded_by: none (no",
            "deserializer), in_reader (in C), in_pool (by workers where that is faster), or on_access (by the",
            "thread that calls payload); not_on_workers says why")
          options.on("--acls", "the rights at the brokers that these routes need, as commands of kafka-acls.sh")
          options.on("--principal TYPE:NAME", "whom --acls grants them to (default: User: and the settings' sasl.username)")
          options.separator("\n#{ACLS_NOTES}")
        end

        def call(arguments)
          principal = @options[:principal]
          raise Guildhall::ArgumentError, "--principal is for --acls only #{see_help}" if principal && !@options[:acls]
          unless principal.nil? || principal.match?(/\A\w+:./)
            raise Guildhall::ArgumentError, "--principal takes TYPE:NAME, as User:#{principal[/[^:]+/] || "shop"}, not #{principal.inspect}"
          end

          super
        end

        # Whatever the server would refuse is an error here; what it would only warn of is a warning.
        def perform
          decodings = Kafka.application.check!
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          topics = Kafka.routes.latest_topics
          return acls(topics) if @options[:acls]
          return @out.puts(Kafka.routes.table(topics, decodings)) unless @options[:json]

          topics.each do |topic|
            decoding = decodings[topic]
            print_json({**topic.summary, "decoded_by" => decoding&.place&.to_s, "not_on_workers" => decoding&.reason})
          end
          nil
        end

        def acls(topics)
          require_relative "routing/rights"
          application = Kafka.application
          grants = Routing::Rights.new(topics, application.config, principal: @options[:principal]) do |topic|
            application.client_settings(topic)
          end.grants
          return grants.each { |grant| print_json(data(grant)) } && nil if @options[:json]

          grants.group_by(&:stage).each do |stage, some|
            @out.puts("# #{Routing::Rights::STAGES.fetch(stage)}:", some.map { |grant| command(grant) }, "")
          end
          @out.puts("# #{UNKNOWN_TOPICS}")
        end

        def data(grant)
          {"bootstrap_servers" => grant.servers, "principal" => grant.principal, "resource" => grant.resource.to_s,
           "name" => (grant.name if grant.pattern), "pattern" => grant.pattern&.to_s,
           "regexp" => (grant.name.inspect unless grant.pattern), "operations" => grant.operations, "features" => grant.features,
           "needed" => grant.stage.to_s}
        end

        def command(grant)
          unless grant.pattern
            return "# no command can say #{grant.name.inspect}: grant #{grant.operations.join(", ")} on the topics that match (or on " \
                   "all: --topic '*')"
          end

          resource = ACL_OPTIONS.key?(grant.resource) ? [ACL_OPTIONS.fetch(grant.resource), grant.name] : ["--cluster"]
          arguments = ["--bootstrap-server", grant.servers, "--command-config", "admin.properties", "--add", "--allow-principal",
                       grant.principal, *grant.operations.flat_map { |operation| ["--operation", operation] }, *resource,
                       *(["--resource-pattern-type", "prefixed"] if grant.pattern == :prefixed)]
          "kafka-acls.sh #{arguments.map { |argument| quoted(argument) }.join(" ")}"
        end

        # Readable, other than Shellwords.
        def quoted(argument) = argument.match?(%r{\A[\w@%+=:,./-]+\z}) ? argument : "'#{argument.gsub("'", "'\\\\''")}'"
      end

      # `guildhall schedule`: recurring tasks.
      class Schedule < ClusterCommand
        HEADINGS = %w[TASK CRON MISSED ENABLED LAST STATE NEXT].freeze
        ACTIONS = %w[list run enable disable].freeze
        ISO = "%FT%TZ"
        WAIT_SECONDS = 0.5 # between two looks at what became of a run
        NOTES = <<~TEXT

          run: now, once, in the process that consumes the schedule, and waits for what comes of it (Ctrl-C: no more); with --here in this
          one. Its due times stay as they are. If no process takes it within a minute, it does not run. disable: no process runs it, from
          now on.
        TEXT
        private_constant :WAIT_SECONDS, :NOTES

        def self.summary = "List, run, enable and disable scheduled tasks"
        def self.words = ACTIONS

        private

        def arity = 2
        def json? = false
        def cluster_alone? = false
        def runs_application? = @action == "run" && @options[:here]

        def define_options(options)
          options.banner = "usage: guildhall schedule list|run NAME|enable NAME|disable NAME [options]\n#{self.class.summary}\n\n"
          super
          options.on("--json", "list: a line of JSON for each task")
          options.on("--here", "run: in this process")
          options.separator(NOTES)
        end

        def call(arguments)
          @action, @name = arguments
          problem = wrong_arguments and raise Guildhall::ArgumentError, "#{problem} #{see_help}"
          super
        end

        def wrong_arguments
          return "which command? One of #{ACTIONS.join(", ")}" unless @action
          return "no command schedule #{@action}#{Suggestion.for(@action, ACTIONS)}" unless ACTIONS.include?(@action)
          return ("unexpected argument: #{@name}" if @name) if @action == "list"
          return "schedule #{@action} needs the name of a task" unless @name

          return "--json is for schedule list only" if @options[:json]

          "--here is for schedule run only" if @options[:here] && @action != "run"
        end

        def perform
          case @action
          when "list" then print_rows(Kafka.application.scheduled_tasks)
          when "run" then return run_task
          else
            Kafka.application.switch_task(@name, @action == "enable")
            @out.puts("#{@name} is #{@action}d")
          end
          nil
        end

        # @return [Integer, nil] the exit status
        def run_task
          began = Clock.now
          asked = Kafka.application.run_task(@name, here: @options[:here] == true)
          run = asked && outcome(asked)
          return @out.puts(format("%s has run in %.1f s", @name, Clock.now - began)) if run.nil?
          return @out.puts("#{@name} has run in #{run.by}") if run.state == :done

          why = {failed: "#{@name} has failed in #{run.by}: #{run.error}"}
          @err.puts("guildhall: #{why.fetch(run.state, "no process has taken #{@name}, and it does not run any more: is one running?")}")
          1
        end

        # @return [Scheduling::State::Run] as it has ended
        def outcome(asked)
          limit = Clock.now + Scheduling::Task::GRACE_SECONDS
          loop do
            run = Kafka.application.scheduled_tasks.find { |status| status.task.name == @name }&.asked || asked
            return run if %i[done failed skipped].include?(run.state) || (run.state == :asked && Clock.now > limit)

            sleep(WAIT_SECONDS)
          end
        end

        def cells(status)
          [status.task.name, status.task.expression, status.task.missed, status.enabled ? "yes" : "no", time(status.last_due),
           status.run&.state || "new", time(status.next_due)]
        end

        def data(status)
          {"task" => status.task.name, "group" => status.topic.group, "cron" => status.task.expression, "missed" => status.task.missed.to_s,
           "enabled" => status.enabled, "last_due" => time(status.last_due, ISO), "next_due" => time(status.next_due, ISO),
           "state" => (status.run&.state || "new").to_s, "by" => status.run&.by, "error" => status.run&.error}
        end
      end

      # `guildhall metrics`: prints the list of metrics, and dashboards for them.
      class Metrics < Guildhall::CLI::Command
        def self.summary = "Print the list of metrics, or a dashboard of them for Grafana or Datadog"

        private

        def define_options(options)
          require_relative "metrics/dashboards"
          formats = Kafka::Metrics::Dashboards::FORMATS
          options.on("-f", "--format FORMAT", formats, "#{formats.join(", ")} (default: #{formats.first})")
        end

        def call(_arguments)
          dashboards = Kafka::Metrics::Dashboards
          @out.puts(dashboards.public_send(@options.fetch(:format, dashboards::FORMATS.first)))
        end
      end
    end
  end
end

require_relative "cli/check"
require_relative "cli/cluster"
require_relative "cli/command"
require_relative "cli/dlq"
require_relative "cli/groups"
require_relative "cli/lag"
require_relative "cli/offsets"
require_relative "cli/outbox"
require_relative "cli/produce"
require_relative "cli/read"
require_relative "cli/top"
require_relative "cli/topics"
