# frozen_string_literal: true

require_relative "../logging"
require_relative "event_log"
require_relative "librdkafka_log"

module Guildhall
  module Kafka
    module Logging
      # Writes one application's log: its events, librdkafka's log, and the errors of subscribers.
      class Log
        # @return [Logger, nil] used while `config.logger` is not set
        attr_accessor :default

        # @param reachability [#failed, nil] gets what librdkafka's log says about brokers that cannot be reached
        def initialize(config, reachability = nil)
          @config = config
          @reachability = reachability
          @default = nil
          @opened = false
        end

        # Subscribes to the events that the Logger prints. Further calls do nothing.
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

        # @return [Logger] for the application's code, which finds it as `Guildhall.logger`, and for librdkafka's lines
        def target = logger || Logger.new(nil)

        # @param text [String] that stands in each line, if the Logger has one of our formatters
        def label=(text)
          logger.progname = text if [TextFormatter, JSONFormatter].include?(logger&.formatter.class)
        end

        def librdkafka
          @librdkafka ||= LibrdkafkaLog.new(target, &@reachability&.method(:failed))
        end

        # Formats what is written to standard error: JSON if the log is JSON.
        # @param text [String] of one line or several
        def format_line(text, severity = "ERROR")
          json = logger&.formatter
          json.is_a?(JSONFormatter) ? json.call(severity, Time.now, logger.progname, text) : "#{text}\n"
        end

        # @param message [String] of an error of a subscriber
        def report(message) = logger&.error(message)
      end
    end
  end
end
