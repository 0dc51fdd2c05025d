# frozen_string_literal: true

module Guildhall
  module Kafka
    module Rails
      # Passes errors on to `Rails.error`, and so to whatever error tracker the application has: unless `config.error_reports` says
      # `messages: true`, as {Redaction} makes them, with their class and backtrace.
      module Errors
        SOURCE = "guildhall.kafka"
        REPORTED = :@__rails_error_reported
        MOST_CAUSES = 100 # some classes name themselves as their cause
        private_constant :REPORTED, :MOST_CAUSES

        class << self
          # Rails reports an error object once: what {#during} has reported comes here again, and is ignored.
          # @param event [Hash{Symbol=>Object}] the payload of `error.occurred`
          def report(event)
            error = event[:error]
            error = error.dup unless error.backtrace # Rails would give it this place, for other subscribers, too
            pass_on(error, event.except(:error, :message))
          end

          # The broker makes the topic: the log says so, and nobody has to do anything.
          def topic_to_come?(error, config)
            error.is_a?(Kafka::KafkaError) && error.code_name == "UNKNOWN_TOPIC_OR_PART" &&
              config.kafka.transform_keys(&:to_sym)[:"allow.auto.create.topics"].to_s == "true"
          end

          # Within the executor, which would report what the block raises, but does not know where it happened.
          # @return [Object] what the block returns
          def during(call)
            yield
          rescue Exception => error # rubocop:disable Lint/RescueException -- as the executor does
            pass_on(error, context(call, error))
            raise
          end

          private

          # Whatever becomes of the report, the error goes on, and the executor does not report it as it is.
          def pass_on(original, context)
            return if original.instance_variable_defined?(REPORTED)

            shown = Redaction.copy(original, messages: Kafka.config.messages_of_errors?)
            begin
              ::Rails.error.report(shown, handled: false, context:, source: SOURCE)
            ensure
              mark(original) unless shown.equal?(original)
            end
          rescue StandardError, ScriptError, SystemStackError => error
            warn("guildhall: Rails.error raised #{error.class}: #{Redaction.message(error)}")
          end

          # As Rails does with what it has reported: the executor, which the error passes next, must not report it as it is.
          def mark(error)
            MOST_CAUSES.times do
              error.instance_variable_set(REPORTED, true) unless error.frozen?
              break unless (error = error.cause)
            end
          end

          # With the names of `error.occurred`.
          def context(call, error)
            place = {type: "consumer.#{call.event}", group: call.topic.group, topic: call.name, partition: call.partition}
            return place unless call.consuming?

            offset = call.failing_offset(error)
            {**place, attempt: call.attempt, offset:, first_offset: call.first_offset, last_offset: call.last_offset}
          end
        end
      end
    end
  end
end
