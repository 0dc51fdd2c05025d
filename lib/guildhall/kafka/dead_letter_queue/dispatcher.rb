# frozen_string_literal: true

require "guildhall/clock"
require_relative "../processing/error_kind"
require_relative "origin"

module Guildhall
  module Kafka
    # Sends messages to a retry topic or a dead letter topic, and reads and replays what is there.
    module DeadLetterQueue
      # Sends messages to the next retry topic or to the dead letter topic, with their bytes, key and headers, and with what went
      # wrong in further headers. Which messages, and when, {Processing::RetryPolicy} decides.
      class Dispatcher
        # @param topic [Routing::Topic]
        # @param application [Application]
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

        # All are sent before the first is waited for. Blocks until the broker has them; where the route skips messages, nothing
        # is sent.
        # @param messages [Enumerable<Message>]
        # @param attempts [Integer] how often each has failed
        # @param skip [Boolean] whether nothing is sent
        # @param confirmed [#call] called with each message that is settled
        # @yieldparam message [Message]
        # @yieldreturn [Exception] why it goes there
        # @return [void]
        # @raise [Guildhall::Error] when one of them could not be sent
        def dispatch(messages, attempts, confirmed:, skip: false, &error_of)
          return messages.each { |message| confirmed.call(message) } if skip

          sent, failure = send_all(messages, attempts, error_of)
          limit = Clock.now + (@application.producer.config.max_wait_timeout / 1000.0)
          sent.each do |one|
            settle(*one, limit, confirmed)
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

        # @return [String, false] false: nowhere, it is skipped. A later attempt helps neither wrong bytes nor what the route says
        #   is not to be retried
        def target(error)
          later = @retries&.next_topic
          return @queue.topic if later.nil? || @topic.retries.non_retryable?(error)

          Processing::ErrorKind.of(error, @topic) == :undecodable ? @queue.topic : later
        end

        def settle(message, error, target, handle, limit, confirmed)
          confirm(handle, message, target, limit) if handle
          confirmed.call(message)
          return unless handle

          @application.publish(target == @queue.topic ? "dead_letter_queue.dispatched" : "retry_topic.dispatched", group: @topic.group,
            topic: message.topic, partition: message.partition, offset: message.offset, to: target, error_class: error.class.name)
        end

        # By the client behind waterdrop, whose own rules (no empty keys, no headers without a value) are not Kafka's: a
        # message that breaks one of them would be tried for ever.
        def send_one(client, message, dead_letter)
          client.produce(**dead_letter)
        rescue Rdkafka::RdkafkaError => error
          raise DeadLetterError, undelivered(message, dead_letter[:topic], error)
        end

        def confirm(handle, message, target, limit)
          handle.wait(max_wait_timeout_ms: (Clock.left(limit, least: 0.001) * 1000).ceil)
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          raise DeadLetterError, undelivered(message, target, error)
        end

        def undelivered(message, target, error)
          kind = target == @queue.topic ? "dead letter" : "retry"
          "#{message.topic}/#{message.partition}@#{message.offset} could not be sent to the #{kind} topic #{target}, " \
            "and is tried again: #{error.message}#{"; raise its max.message.bytes" if too_large?(error)}"
        end

        def too_large?(error) = error.is_a?(Rdkafka::RdkafkaError) && error.code == :msg_size_too_large

        def dead_letter(target, message, error, attempts)
          {topic: target, payload: message.raw_payload, key: message.raw_key,
           headers: {**message.raw_headers, **Origin.headers(message, @topic, attempts, error)}}
        end
      end
    end
  end
end
