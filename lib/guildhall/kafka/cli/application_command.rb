# frozen_string_literal: true

require "io/console"
require "logger"
require "guildhall/cli/command" # of another gem: not by relative path
require "guildhall/text_table"
require_relative "../errors"
require_relative "message_format"

module Guildhall
  module Kafka
    module CLI
      # A command that works on the user's application: it loads the file named with `-r`, and then calls `perform`.
      class ApplicationCommand < Guildhall::CLI::Command
        DEFAULT_FILES = ["guildhall.rb", "config/environment.rb"].freeze
        PARTIAL = 3 # the exit status where a part could not be queried
        # The one rule, see {Guildhall::CLI.status}; a command names what it has besides.
        STATUSES = "Exit status: 0 done; 1 failed, refused, or no broker answers; 2 wrong usage, or there is no such topic or group;\n" \
                   "#{PARTIAL} some could not be queried; 78 wrong configuration".freeze
        PARTIAL_NOTE = "Topics and partitions that could not be queried are listed on standard error; the exit status is " \
                       "#{PARTIAL} then.".freeze

        SIGNALS = %w[INT TERM].freeze
        private_constant :SIGNALS

        private

        def define_options(options)
          options.on("-r", "--require FILE", "the application: configuration and routes (default: #{DEFAULT_FILES.join(" or ")})")
        end

        def call(_arguments)
          @out = @cli.keep_output if @out.fileno == 1 && !runs_application? # of a StringIO: nil
          load_application
          begin
            watch_brokers unless runs_application?
            perform
          rescue UnreachableError => error
            raise explained(error)
          rescue Routing::RouteSelection::UnknownNameError => error
            raise Guildhall::ArgumentError, error.message
          rescue Rdkafka::RdkafkaError => error
            raise translated(error)
          end
        end

        # Whether it runs the application's code, whose output and log are its own.
        def runs_application? = false

        # Whether it waits for brokers now, however long that takes.
        def waits? = false

        # Why no broker is reached is said once: at the end by the error, or at once while it is waited for.
        def watch_brokers
          application = Kafka.application
          application.default_logger ||= Logger.new(nil)
          application.open_log
          lines = Logging::EventLog.new(Logging.logger(@err, level: "warn"))
          application.instrumentation.subscribe("broker.unreachable", "broker.reachable") do |event|
            @unreached = event.payload if event.name == "broker.unreachable"
            lines.call(event) if waits? && !application.config.logger_given?
          end
        end

        # @param error [UnreachableError]
        def explained(error) = @unreached ? error.because(**@unreached.slice(:broker, :reason, :advice)) : error

        def load_application
          file = application_file or raise Guildhall::ArgumentError, "no application: name its file with -r ./app.rb"
          raise Guildhall::ArgumentError, "there is no file #{file} to require" unless File.file?(file)

          require "guildhall/kafka"
          Kafka.load_application(File.expand_path(file))
        rescue ApplicationStateError => error
          raise Guildhall::ArgumentError, "#{file}: #{error.message}"
        rescue SystemExit => error
          raise unless error.success? # nothing was done yet

          raise Guildhall::ArgumentError, "#{file} ends the process while it is loaded"
        end

        # @return [String, nil] nil: there is none
        def application_file = @options[:require] || DEFAULT_FILES.find { |candidate| File.exist?(candidate) }

        def translated(error)
          return CommandError.new("Kafka: #{Broker::Errors.explain(error, error.message)}") unless Broker::Errors.unanswered?(error)

          UnreachableError.at(Kafka.config.librdkafka, error.rdkafka_response, error.message)
        end

        # Prints a table of the subclass's `HEADINGS` and `cells(row)`; with --json, its `data(row)` as a line of JSON for each.
        def print_rows(rows)
          return rows.each { |row| print_json(data(row)) } if @options[:json]

          print_table([self.class::HEADINGS, *rows.map { |row| cells(row) }])
        end

        # In a terminal no line is longer than that is wide.
        def print_table(rows) = @out.puts(TextTable.lines(rows, width: (@out.winsize.last.nonzero? if @out.tty?)))

        # Prints to standard error what could not be queried. A topic of the routes that does not exist (yet) is no failure; a missing topic
        # that the user has named is.
        # @return [Integer] the exit status
        def report(problems, named: [])
          problems.each { |problem| @err.puts("guildhall: #{problem.missing? ? "there is no topic #{problem.topic}" : problem}") }
          problems.all? { |problem| problem.missing? && !named.include?(problem.topic) } ? 0 : PARTIAL
        end

        # @return [Array<Integer>, nil] those that the option names; nil: all
        def partitions
          @options[:partition]&.map do |text|
            text.match?(/\A\d+\z/) ? text.to_i : raise(Guildhall::ArgumentError, "--partition takes numbers, not #{text} #{see_help}")
          end
        end

        # For JSON: bytes that are not valid text are printed in base 64.
        def text(name, bytes) = MessageFormat::Text.member(name, bytes)

        # The first signal ends the work in good order, the second one the process.
        # @param stop [#call] called in a trap
        # @param again [String] what the second signal does: "SYSTEM_DEFAULT" does not even wait for what the process would still do
        def interruptible(stop, again: "DEFAULT")
          previous = SIGNALS.to_h do |name|
            [name, trap(name) do
              SIGNALS.each { |one| trap(one, again) }
              @interrupted = true
              stop.call
            end]
          end
          yield
        ensure
          previous&.each { |name, handler| trap(name, handler || "DEFAULT") }
        end

        def time(time, format = "%F %T") = time&.utc&.strftime(format)
      end
    end
  end
end
