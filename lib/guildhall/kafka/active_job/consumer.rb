# frozen_string_literal: true

require "json"
require_relative "../../kafka/consumer"

module Guildhall
  module Kafka
    module ActiveJob
      # Performs jobs. Each is marked when it is done, so that a stop or a rebalance in the middle of a batch repeats none. What escapes a
      # job's `retry_on` and `discard_on` is handled by the topic's retries and its dead letter queue.
      class Consumer < Kafka::Consumer
        CURRENT = :guildhall_active_job_consumer
        private_constant :CURRENT

        # @return [Consumer, nil] the one that performs a job in this thread, also in its Fibers (as CurrentAttributes have it)
        def self.current = ActiveSupport::IsolatedExecutionState[CURRENT]

        # @return [String, nil] the id of the job that it performs
        attr_reader :job_id
        # @return [Hash{String=>String}] the headers of its message that a retry has again: see {CurrentAttributesHeader} and {TrackedJob}
        attr_reader :job_headers

        # @!visibility private
        # @return [Integer, nil] the number of its {Batch}
        def batch_id = job_headers && Integer(job_headers[TRACKED_HEADER], exception: false)

        # @!visibility private
        # The job that it performs is not done: it comes again.
        def enqueued_again
          @again = true
        end

        def consume
          messages.each_marking do |message|
            break if stopping? || revoked?

            perform(message) unless message.tombstone?
          end
        end

        private

        def tracked? = job_headers.key?(TRACKED_HEADER)

        # Wrapped as a call of its own, so that no job sees what another has left.
        def perform(message)
          @call.wrap(:perform, [message]) do
            data = parse(message)
            data["executions"] = data["executions"].to_i + failures(message)
            data["provider_job_id"] = "#{message.topic}/#{message.partition}@#{message.offset}"
            as_current(data["job_id"], message.headers) do
              next if TrackedJob.counted?(job_id, batch_id)

              attributes = read_attributes(data, message.headers)
              ActiveJob.current_attributes_header.with(attributes) { ::ActiveJob::Base.execute(data) } if attributes
              TrackedJob.finish(job_id, batch_id) if tracked? && !@again
            end
          end
        end

        # How often the topic has repeated it: attempts are those of the first job that is not done.
        def failures(message)
          here = message.offset == messages.first_offset ? attempt - 1 : 0
          before = topic.retry_topic? ? DeadLetterQueue::DeadLetterHeaders.attempts(message.raw_headers).to_i : 0
          before + here
        end

        # A record in the attributes may be gone, as one in the arguments may: that is for the job's `discard_on` and `retry_on`.
        # @return [Hash, nil] nil: one of these has handled it
        def read_attributes(data, headers)
          ActiveJob.current_attributes_header.read(headers)
        rescue ::ActiveJob::DeserializationError => error
          ::ActiveJob::Base.deserialize(data).rescue_with_handler(error) ? nil : raise
        end

        # Not by our own codec: its Strings are frozen, and a job may change its arguments.
        def parse(message)
          payload = message.payload # where the route decrypts, say
          data = ::JSON.parse(payload.is_a?(String) ? payload : ::JSON.generate(payload))
          data.is_a?(Hash) && data["job_class"].is_a?(String) ? data : refuse_payload("job_class is missing")
        rescue ::JSON::ParserError
          refuse_payload("invalid JSON")
        end

        def refuse_payload(reason)
          raise Kafka::UndecodableMessageError.new("not a job of Active Job: #{reason}", codec: "job")
        end

        def as_current(job_id, headers)
          @job_id = job_id
          @job_headers = headers.slice(CurrentAttributesHeader::NAME, TRACKED_HEADER)
          @again = false
          before = Consumer.current
          ActiveSupport::IsolatedExecutionState[CURRENT] = self
          yield
        ensure
          ActiveSupport::IsolatedExecutionState[CURRENT] = before
          @job_id = @job_headers = nil
        end
      end
    end
  end
end
