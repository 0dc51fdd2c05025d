# frozen_string_literal: true

require "delegate"

module Guildhall
  module Kafka
    module Rails
      # `Rails.logger`, for Guildhall's own lines.
      # @api private
      class Log < SimpleDelegator
        # They come every few seconds, and a development log has all levels. Metrics and subscribers get them.
        def unwanted_events = %w[lag.measured statistics.emitted]

        # `guildhall server` prints its lines to standard output too, as `rails server` does.
        def log_to(out)
          return if ActiveSupport::Logger.logger_outputs_to?(__getobj__, out) || !__getobj__.respond_to?(:broadcast_to)

          __getobj__.broadcast_to(Kafka::Logging.logger(out))
        end
      end
    end
  end
end
