# frozen_string_literal: true

require "logger"
require_relative "logging/event_log"
require_relative "logging/formatters"
require_relative "logging/journal"
require_relative "logging/librdkafka_log"
require_relative "logging/options"

module Guildhall
  module Kafka
    # What an application logs: its events, and librdkafka's own log, through one Logger.
    module Logging
      # @param format [String] one of {FORMATS}
      # @param level [String] one of {LEVELS}
      # @return [Logger] whose lines leave the process at once, also where `out` is a pipe
      def self.logger(out, format: "text", level: "info")
        out.sync = true
        Logger.new(out, level:, formatter: format == "json" ? JSONFormatter.new : TextFormatter.new)
      end
    end
  end
end
