# frozen_string_literal: true

require "guildhall/clock"
require_relative "../partition/dispatches"
require_relative "../partition/error_kind"
require_relative "../producing/reporting"
require_relative "../producing/wire"
require_relative "origin"

module Guildhall
  module Kafka
    # Sends messages to a retry topic or a dead letter topic, and reads and replays what is there.
    module DeadLetterQueue
      # Sends messages to the next retry topic or to the dead letter topic, with their bytes, key and headers, and with what went
      # wrong in further headers. Which messages, and when, {Partition::FailurePolicy} decides.
      class Dispatcher
        def initialize(topic, application)
          @topic = topic
          @queue = topic.dead_letter_queue
          @retries = topic.retry_topics
          @application = application
        end

        # @return [Boolean] whether payloads whose bytes cannot be decoded go there without having been consumed
        def dispatch_undecodable?
          @queue.dispatch_undecodable
        end

        # @param error [Exception] why a message goes there
        # @return [Boolean] false: the route skips it
        def sends?(error) = !!target(error)

        # @return [String, false] false: nowhere, it is skipped. A later attempt helps neither wrong bytes nor what the route says
        #   is not to be retried
        def target(error)
          later = @retries&.next_topic
          return @queue.topic if later.nil? || @topic.retries.non_retryable?(error)

          Partition::ErrorKind.of(error, @topic) == :undecodable ? @queue.topic : later
        end

        # All are sent before the first is waited for. Blocks until the broker has them.
        # @param attempts [Integer] how often each has failed
        # @param confirmed [#call] called with each message that is settled
        # @param give_up [#call] asked now and then while the broker does not answer: whether to wait no longer
        # @yieldreturn [Exception] why it goes there
        # @raise [DeadLetterError] when one of them could not be sent
        def dispatch(messages, attempts, confirmed:, give_up: -> { false }, &error_of)
          sent, failure = send_all(messages, attempts, error_of)
          limit = Clock.now + (@application.producer.config.max_wait_timeout / 1000.0)
          sent.each do |one|
            settle(*one, limit, confirmed, give_up)
          rescue DeadLetterError => error
            failure ||= error
          end
          raise failure if failure
        end

        private

        # As many as the producer takes: its queue may be full. Those are settled, or they would be sent again with the others.
        # @return [Array(Array, DeadLetterError | nil)] messages with their errors and handles; what stopped it
        def send_all(messages, attempts, error_of)
          client = @application.producer.client
          sent = []
          messages.each do |message|
            error = error_of.call(message)
            to = target(error)
            handle = send_one(client, message, dead_letter(to, message, error, attempts)) if to
            sent << [message, error, to, handle]
          end
          [sent, nil]
        rescue DeadLetterError => error
          [sent, error]
        end

        def settle(message, error, target, handle, limit, confirmed, give_up)
          confirm(handle, message, target, limit, give_up) if handle
          confirmed.call(message)
          return unless handle

          @application.publish(target == @queue.topic ? "dead_letter_queue.dispatched" : "retry_topic.dispatched", group: @topic.group,
            topic: message.topic, partition: message.partition, offset: message.offset, to: target, error_class: error.class.name)
        end

        # By the client behind waterdrop, whose own rules (no empty keys, no headers without a value) are not Kafka's: a
        # message that breaks one of them would be tried for ever.
        def send_one(client, message, dead_letter)
          client.produce(**dead_letter, label: Producing::Reporting::AWAITED)
        rescue Rdkafka::RdkafkaError => error
          raise undelivered(message, dead_letter[:topic], error)
        end

        # What is not confirmed in time may still be on its way.
        def confirm(handle, message, target, limit, give_up)
          begin
            left = Clock.left(limit, least: 0.001)
            handle.wait(max_wait_timeout_ms: ([left, Partition::Dispatches::SLICE_SECONDS].min * 1000).ceil)
          rescue Rdkafka::AbstractHandle::WaitTimeoutError
            retry if Clock.now < limit && !give_up.call
            @application.abandon(handle)
            raise
          end
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          raise undelivered(message, target, error)
        end

        def undelivered(message, target, error)
          kind = target == @queue.topic ? "dead letter" : "retry"
          code = error.code if error.is_a?(Rdkafka::RdkafkaError)
          reason = [error.message, *(code && Broker::Errors.advice(code, to: target))].join("; ")
          DeadLetterError.new("#{message.topic}/#{message.partition}@#{message.offset} could not be sent to the #{kind} topic #{target}, " \
                              "and is sent again; its partition waits: #{reason}", to: target, reason:)
        end

        def dead_letter(target, message, error, attempts)
          {topic: target, payload: message.raw_payload, key: message.raw_key,
           headers: Producing::Wire.headers({**message.raw_headers, **Origin.headers(message, @topic, attempts, error)})}
        end
      end
    end
  end
end
