# frozen_string_literal: true

require_relative "event_log"
require_relative "formatters"
require_relative "librdkafka_log"

module Guildhall
  module Kafka
    module Logging
      # Where one application's log goes: its events, librdkafka's log, and what subscribers raise.
      class Journal
        # @return [Logger, nil] used where `config.logger` was not set
        attr_accessor :default

        # @param reachability [#failed, nil] gets what librdkafka's log says of brokers that cannot be reached
        def initialize(config, reachability = nil)
          @config = config
          @reachability = reachability
          @default = nil
          @opened = false
        end

        # Attaches it, the first time.
        def open(instrumentation)
          return if @opened

          @opened = true
          Rdkafka::Config.logger = librdkafka
          log = EventLog.new(logger) if logger
          instrumentation.subscribe(*log.names) { |event| log.call(event) } if log&.names&.any?
        end

        # @return [Logger, nil] nil: silence
        def logger
          @config.logger_given? ? @config.logger : (@default ||= Logging.logger($stderr, level: "warn"))
        end

        # @param text [String] that stands in each line, of a Logger that writes them as ours do
        def label=(text)
          logger.progname = text if [TextFormatter, JSONFormatter].include?(logger&.formatter.class)
        end

        def librdkafka
          @librdkafka ||= LibrdkafkaLog.new(logger || Logger.new(nil), &@reachability&.method(:failed))
        end

        # What is said on standard error: where the log is JSON, JSON as well.
        # @param text [String] of one line or several
        def format_line(text, severity = "ERROR")
          json = logger&.formatter
          json.is_a?(JSONFormatter) ? json.call(severity, Time.now, logger.progname, text) : "#{text}\n"
        end

        # @param message [String] what a subscriber has raised
        def report(message)
          logger&.error(message)
        end
      end
    end
  end
end
