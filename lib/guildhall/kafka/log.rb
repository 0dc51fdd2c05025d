# frozen_string_literal: true

module Guildhall
  module Kafka
    # Writes what happens into `config.logger`, for people: a line an event; batches as debug.
    class Log
      LEVELS = {"error.occurred" => :error, "partition.stalled" => :warn, "partition.abandoned" => :warn,
                "consumer.consumed" => :debug, "consumer.skipped" => :debug,
                "lag.measured" => :debug, "statistics.emitted" => :debug}.freeze

      # @param logger [Logger]
      # @param instrumentation [Instrumentation]
      # @return [void]
      def self.attach(logger, instrumentation)
        log = new(logger)
        instrumentation.subscribe { |event| log.call(event) }
      end

      # @param logger [Logger]
      def initialize(logger)
        @logger = logger
      end

      # @param event [Instrumentation::Event]
      # @return [void]
      def call(event)
        @logger.public_send(LEVELS.fetch(event.name, :info)) { line(event.name, event.payload) }
      end

      private

      def line(name, payload)
        error = payload[:error]
        rest = payload.except(:error).map { |key, value| "#{key}=#{value.is_a?(String) ? value : value.inspect}" }
        text = [name, *rest].join(" ")
        error ? "#{text}: #{error.class}: #{error.message}#{"\n  #{error.backtrace.first(5).join("\n  ")}" if error.backtrace}" : text
      end
    end
  end
end
