# frozen_string_literal: true

require_relative "../error_tracking"

module Guildhall
  module Kafka
    module Rails
      # Middleware: runs consumers inside the application's reloader and executor (connections are returned, the query cache is on,
      # CurrentAttributes are reset; code is reloaded before, never within), with the lines of `Rails.logger` tagged with
      # consumer group, topic, partition and first offset.
      # @api private
      class Execution
        def initialize(rails)
          @reloader = rails.reloader
        end

        def call(call, &block)
          return block.call if jobs?(call)

          tagged(call.topic.group, call.id) { @reloader.wrap { ErrorReports.during(call, &block) } }
        end

        private

        # Each job is wrapped and tagged by itself: one must not see what another has left in CurrentAttributes.
        def jobs?(call)
          call.event == :consume && Kafka.const_defined?(:ActiveJob, false) && call.topic.consumer <= ActiveJob::Consumer
        end

        # Not `tagged`: several loggers that are broadcast to would each call the block.
        def tagged(*tags)
          logger = ::Rails.logger
          return yield unless logger.respond_to?(:push_tags)

          begin
            logger.push_tags(*tags)
            yield
          ensure
            logger.pop_tags(tags.size)
          end
        end
      end

      # Passes errors on to `Rails.error`, and so to whatever error tracker the application has: unless `config.error_reports` says
      # `messages: true`, as {Redaction} makes them, with their class and backtrace.
      # @api private
      module ErrorReports
        SOURCE = "guildhall.kafka"
        REPORTED = :@__rails_error_reported
        FAILURES = ErrorTracking::Failures.new
        MOST_CAUSES = 100 # some classes name themselves as their cause
        private_constant :SOURCE, :REPORTED, :FAILURES, :MOST_CAUSES

        class << self
          # Rails reports an error object once: what {#during} has reported comes here again, and is ignored.
          # @param event [Hash{Symbol=>Object}] the payload of `error.occurred`
          def report(event)
            error = event[:error]
            error = error.dup unless error.backtrace # Rails would give it this place, for other subscribers, too
            pass_on(error, event.except(:error, :message), nil)
          end

          # Whether the broker makes the topic that is missing: the log says so, and nobody has to do anything.
          def topic_to_come?(error, config)
            error.is_a?(Kafka::KafkaError) && error.code_name == "UNKNOWN_TOPIC_OR_PART" &&
              config.librdkafka[:"allow.auto.create.topics"].to_s == "true"
          end

          # Within the executor, which would report what the block raises, but does not know where it happened.
          def during(call)
            yield
          rescue Exception => error # rubocop:disable Lint/RescueException -- as the executor does
            context = call.failure(error)
            pass_on(error, context, call.record(context[:offset] || context[:first_offset])&.headers)
            raise
          end

          private

          # If the error tracker raises, the consumer's error goes on all the same, and the executor does not report it as it is.
          def pass_on(original, context, headers)
            return if original.instance_variable_defined?(REPORTED)
            return mark(original) unless Kafka.config.attempts_of_errors? || FAILURES.first?(original, context, headers)

            shown = Redaction.copy(original, messages: Kafka.config.messages_of_errors?)
            begin
              ::Rails.error.report(shown, handled: false, context:, source: SOURCE)
            ensure
              mark(original) unless shown.equal?(original)
            end
          rescue StandardError, ScriptError, SystemStackError => error
            warn("guildhall: Rails.error raised #{error.class}: #{Redaction.message(error)}")
          end

          # As Rails does with what it has reported.
          def mark(error)
            MOST_CAUSES.times do
              error.instance_variable_set(REPORTED, true) unless error.frozen?
              break unless (error = error.cause)
            end
          end
        end
      end
    end
  end
end
