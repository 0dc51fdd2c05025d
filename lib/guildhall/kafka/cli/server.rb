# frozen_string_literal: true

require_relative "application_command"
require_relative "../logging"

module Guildhall
  module Kafka
    module CLI
      # `guildhall server`: consumes until SIGINT, SIGTERM, SIGQUIT or SIGHUP.
      class Server < ApplicationCommand
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Consume the application's topics until SIGINT or SIGTERM"

        # With `--log-format json`, an error of the arguments, of the application's file or of its configuration is printed as JSON, too.
        # (see Guildhall::CLI::Command#run)
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
        # (see Guildhall::CLI::Command.summary)
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
    end
  end
end
