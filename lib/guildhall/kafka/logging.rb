# frozen_string_literal: true

require "rbconfig"
require "guildhall/printable"

module Guildhall
  module Kafka
    # The log of an application: its events, and librdkafka's own log, through one Logger. This file loads without the C extension, for
    # `guildhall help`.
    module Logging
      FORMATS = %w[text json].freeze
      LEVELS = %w[debug info warn error fatal].freeze

      # @return [Logger] whose lines leave the process at once, also where `out` is a pipe
      def self.logger(out, format: "text", level: "info")
        out.sync = true
        Logger.new(out, level:, formatter: format == "json" ? JSONFormatter.new : TextFormatter.new)
      end

      # A line for people that also has its parts for machines. A String, so that every Logger prints it as it is.
      # @api private
      class LogLine < String
        # @return [Hash{Symbol=>Object}] `event:` and the event's payload
        attr_reader :fields

        def initialize(text, fields)
          super(text)
          @fields = fields
        end
      end

      # A line of text: time, level, process of a swarm, message.
      # @api private
      class TextFormatter
        def call(severity, time, progname, message)
          "#{time.getutc.strftime("%FT%T.%LZ")} #{severity.ljust(5)} #{"#{progname}: " if progname}#{message}\n"
        end
      end

      # A line of JSON: time, level, process of a swarm, message; for an event also its name and payload.
      # @api private
      class JSONFormatter
        def initialize
          require "guildhall/json"
        end

        def call(severity, time, progname, message)
          fields = message.is_a?(LogLine) ? message.fields : {}
          "#{JSON.encode({"time" => time.getutc.strftime("%FT%T.%LZ"), "level" => severity,
                          **({"process" => progname} if progname), "message" => text(message.to_s),
                          **fields.to_h { |key, value| [key.to_s, plain(value)] }})}\n"
        end

        private

        def plain(value)
          case value
          when nil, true, false, Integer then value
          when Float then value.finite? ? value : value.to_s
          when Array then value.map { |one| plain(one) }
          when Hash then value.to_h { |key, one| [key.to_s, plain(one)] }
          else text(value.to_s)
          end
        end

        def text(string) = string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
      end

      # The place in the application's own code that an error came from.
      # @api private
      module ApplicationFrame
        GUILDHALL = File.expand_path("../..", __dir__)
        private_constant :GUILDHALL

        # @return [String, nil] the first frame that is not of Ruby, a gem or Guildhall; where there is none, the first at all; nil
        #   where the error was never raised
        def self.of(error) = own(error.backtrace).first || error.backtrace&.first

        # @return [Array<String>, nil] those of the application, or all where there is none of it; as of {.place}; nil as of {.of}
        def self.frames(error, most)
          frames = own(error.backtrace).first(most)
          frames = error.backtrace&.first(most) if frames.empty?
          frames&.map { |frame| Printable.valid(shortened(frame)) }
        end

        def self.own(backtrace)
          foreign = [GUILDHALL, RbConfig::CONFIG["rubylibdir"], *Gem.path].map { |folder| "#{folder}/" }
          (backtrace || []).lazy.reject { |frame| frame.start_with?("<internal:", *foreign) }
        end
        private_class_method :own

        # @return [String, nil] where in the application's own code a thread is now, as {.place}; nil: nowhere
        def self.of_thread(thread) = own(thread.backtrace).first&.then { |frame| shortened(frame) }

        # @return [String, nil] as {.of}, seen from the process's folder: the same wherever a release was unpacked
        def self.place(error) = of(error)&.then { |frame| shortened(frame) }

        # @return [String] with paths as seen from the process's folder
        def self.shortened(text)
          text.gsub("#{Dir.pwd}/", "")
        rescue SystemCallError # a deployment has deleted the folder of an earlier release, whose process still works
          text
        end
      end

      # Writes one application's log: its events, librdkafka's log, and the errors of subscribers.
      # @api private
      class Log
        # @return [Logger, nil] used while `config.logger` is not set
        attr_accessor :default

        # @param reachability [#failed, nil] gets what librdkafka says about brokers that cannot be reached
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

        # For standard error: JSON if the log is JSON.
        def format_line(text, severity = "ERROR")
          json = logger&.formatter
          json.is_a?(JSONFormatter) ? json.call(severity, Time.now, logger.progname, text) : "#{text}\n"
        end

        def report(message) = logger&.error(message)
      end
    end
  end
end
