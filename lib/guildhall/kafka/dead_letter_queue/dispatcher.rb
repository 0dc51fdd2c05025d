# frozen_string_literal: true

require_relative "../partition/error_kind"
require_relative "../producing/delivery"
require_relative "dead_letter"

module Guildhall
  module Kafka
    module DeadLetterQueue
      # Sends messages to the next retry topic or to the dead letter topic, with their bytes, key and headers, and with what went
      # wrong in further headers. Which messages, and when, {Partition::FailurePolicy} decides.
      # @api private
      class Dispatcher
        def initialize(topic, application)
          @topic = topic
          @queue = topic.dead_letter_queue
          @retries = topic.retry_topics
          @application = application
        end

        # Payloads whose bytes cannot be decoded go there without having been consumed.
        def dispatch_undecodable? = @queue.dispatch_undecodable

        # False: the route skips a message that goes there for this error.
        def sends?(error) = !!target(error)

        # A later attempt helps neither a payload that cannot be decoded nor an error that the route calls non_retryable.
        # @return [String, false] the next retry topic, or the dead letter topic; false: the message is skipped
        def target(error)
          later = @retries&.next_topic
          return @queue.topic if later.nil? || @topic.retries.non_retryable?(error)

          Partition::ErrorKind.of(error, @topic) == :undecodable ? @queue.topic : later
        end

        # Sends all before it waits for the first. Blocks until the broker has them.
        # @param attempts [Integer] how often each has failed
        # @param confirmed [#call] called with each message that the broker has, or that is skipped
        # @param give_up [#call] asked now and then while the broker does not answer: whether to wait no longer
        # @yieldreturn [Exception] why it goes there
        def dispatch(messages, attempts, confirmed:, give_up: -> { false }, &error_of)
          sent, failure = send_all(messages, attempts, error_of)
          limit = Clock.now + @application.producer.wait_seconds
          sent.each do |message, reason, to, handle|
            confirm(handle, message, to, limit, give_up) if handle
            confirmed.call(message)
            publish(message, reason, to) if handle
          rescue DeadLetterError => error
            failure ||= error
          end
          raise failure if failure
        end

        private

        # Sends as many as the producer takes: its queue may be full. The caller waits for these, or they would be sent again with the rest.
        # @return [Array(Array, DeadLetterError | nil)] messages with their errors, topics and handles; the error that ended the sending
        def send_all(messages, attempts, error_of)
          producer = @application.producer
          sent = []
          messages.each do |message|
            reason = error_of.call(message)
            to = target(reason)
            sent << [message, reason, to, (send_one(producer, message, to, headers(message, attempts, reason)) if to)]
          end
          [sent, nil]
        rescue DeadLetterError => error
          [sent, error]
        end

        def headers(message, attempts, reason)
          DeadLetterHeaders.for(message, @topic, attempts, reason, messages: @application.config.messages_of_errors?)
        end

        def send_one(producer, message, to, headers)
          producer.start({topic: to, payload: message.raw_payload, key: message.raw_key, headers:})
        rescue ProduceError => error
          raise undelivered(message, to, error)
        end

        # A message that was not confirmed in time may still be on its way. It is sent again, so closing the producer does not wait for it.
        def confirm(handle, message, to, limit, give_up)
          handle.await(limit, give_up)
        rescue ProduceError, TimeoutError => error
          @application.abandon(handle) if error.is_a?(TimeoutError)
          raise undelivered(message, to, error)
        end

        def publish(message, reason, to)
          @application.publish(to == @queue.topic ? "dead_letter_queue.dispatched" : "retry_topic.dispatched", group: @topic.group,
            topic: message.topic, partition: message.partition, offset: message.offset, to:, error_class: reason.class.name)
        end

        def undelivered(message, to, error)
          kind = to == @queue.topic ? "dead letter" : "retry"
          reason = ProduceError.reason_of(error)
          DeadLetterError.new("#{message.topic}/#{message.partition}@#{message.offset} could not be sent to the #{kind} topic #{to}, " \
                              "and is sent again; its partition waits: #{reason}", to:, reason:)
        end
      end
    end
  end
end
