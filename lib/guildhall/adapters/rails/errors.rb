# frozen_string_literal: true

module Guildhall
  module Adapters
    module Rails
      # Passes errors on to `Rails.error`, and so to whatever error tracker the application has. Payloads are never part of it.
      module Errors
        SOURCE = "guildhall.kafka"

        class << self
          # Rails reports an error object once: what {#during} has reported comes here again, and is ignored.
          # @param event [Hash{Symbol=>Object}] the payload of `error.occurred`
          # @return [void]
          def report(event)
            error = event[:error]
            error = error.dup unless error.backtrace # Rails would give it this place, for other subscribers, too
            ::Rails.error.report(error, handled: false, context: event.except(:error), source: SOURCE)
          end

          # The broker makes the topic: the log says so, and nobody has to do anything.
          # @param error [Exception]
          # @param config [Kafka::Config]
          # @return [Boolean]
          def topic_to_come?(error, config)
            error.is_a?(Kafka::KafkaError) && error.code_name == "UNKNOWN_TOPIC_OR_PART" &&
              config.kafka.transform_keys(&:to_sym)[:"allow.auto.create.topics"].to_s == "true"
          end

          # Within the executor, which would report what the block raises, but does not know where it happened.
          # @param call [Kafka::Processing::Middleware::Call]
          # @return [Object] what the block returns
          def during(call)
            yield
          rescue Exception => error # rubocop:disable Lint/RescueException -- as the executor does
            ::Rails.error.report(error, handled: false, context: context(call, error), source: SOURCE)
            raise
          end

          private

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
