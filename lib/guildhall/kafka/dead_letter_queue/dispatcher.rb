# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    # Sends messages to a dead letter topic, and reads and replays what is there.
    module DeadLetterQueue
      # Sends messages to the dead letter topic, with their bytes, key and headers, and with what went wrong in further
      # headers. Which messages, and when, {Processing::RetryPolicy} decides.
      class Dispatcher
        # Those that a dead letter has beside the message's own.
        HEADERS = %w[source_topic source_partition source_offset source_consumer_group source_attempts source_error_class].freeze

        # @param topic [Routing::Topic]
        # @param application [Application]
        def initialize(topic, application)
          @topic = topic
          @queue = topic.dead_letter_queue
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
          return messages.each { |message| confirmed.call(message) } if skip || @queue.topic == false

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
            sent << [message, error, send_one(client, message, dead_letter(message, error, attempts))]
          end
          [sent, nil]
        rescue DeadLetterError => error
          [sent, error]
        end

        def settle(message, error, handle, limit, confirmed)
          confirm(handle, message, limit)
          confirmed.call(message)
          @application.publish("dead_letter_queue.dispatched", topic: message.topic, partition: message.partition,
            offset: message.offset, to: @queue.topic, error_class: error.class.name)
        end

        # By the client behind waterdrop, whose own rules (no empty keys, no headers without a value) are not Kafka's: a
        # message that breaks one of them would be tried for ever.
        def send_one(client, message, dead_letter)
          client.produce(**dead_letter)
        rescue Rdkafka::RdkafkaError => error
          raise DeadLetterError, undelivered(message, error)
        end

        def confirm(handle, message, limit)
          handle.wait(max_wait_timeout_ms: (Clock.left(limit, least: 0.001) * 1000).ceil)
        rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
          raise DeadLetterError, undelivered(message, error)
        end

        def undelivered(message, error)
          "#{message.topic}/#{message.partition}@#{message.offset} could not be sent to the dead letter topic #{@queue.topic}, " \
            "and is tried again: #{error.message}"
        end

        def dead_letter(message, error, attempts)
          {topic: @queue.topic, payload: message.raw_payload, key: message.raw_key,
           headers: {**message.raw_headers, **HEADERS.zip(origin(message, error, attempts)).to_h}}
        end

        def origin(message, error, attempts)
          [message.topic, message.partition.to_s, message.offset.to_s, @topic.group, attempts.to_s, error.class.name.to_s]
        end
      end
    end
  end
end
