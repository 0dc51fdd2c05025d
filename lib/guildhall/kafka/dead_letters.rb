# frozen_string_literal: true

module Guildhall
  module Kafka
    # What becomes of messages that a consumer keeps failing on: they go to another topic, with their bytes, key and
    # headers, and with what went wrong in further headers.
    class DeadLetters
      # Those that a letter has beside the message's own.
      HEADERS = %w[source_topic source_partition source_offset source_consumer_group source_attempts source_error_class].freeze

      # For topics without a dead letter queue: a message is tried until it works.
      class None
        # @return [false]
        def poison? = false

        # @return [nil]
        def following(*) = nil
      end

      # @param topic [Routing::Topic]
      # @param application [Application]
      # @return [DeadLetters, None]
      def self.for(topic, application)
        topic.dead_letter_queue ? new(topic, application) : None.new
      end

      # @param topic [Routing::Topic]
      # @param application [Application]
      def initialize(topic, application)
        @topic = topic
        @queue = topic.dead_letter_queue
        @application = application
      end

      # @return [Boolean] whether payloads that cannot be decoded go there without having been consumed
      def poison?
        @queue.poison
      end

      # Buries what the consumer failed on, if it has failed often enough. Blocks until the broker has it.
      # @param error [Exception]
      # @param failures [Integer] in a row
      # @param messages [Messages] what `consume` was called with
      # @param batch [Batch]
      # @param done [Integer, nil] the first offset that is not marked; nil: none is
      # @return [Integer, nil] the offset to go on with; nil: it is to be tried again
      def following(error, failures, messages, batch, done)
        decision = decide(error, failures)
        return if decision == :retry

        victims = victims(messages, done || 0)
        bury(victims, failures) { error } unless decision == :skip || @queue.topic == false
        batch.offset_after(victims.last.offset)
      end

      # @param messages [Messages]
      # @param batch [Batch] from which they are taken out
      # @return [void]
      def bury_poison(messages, batch)
        failed = messages.failures
        return if failed.empty?
        return batch.leave_out(failed.map(&:offset)) if @queue.topic == false

        bury(failed, 0, ->(message) { batch.leave_out([message.offset]) }) { |message| message.failure.exception }
      end

      private

      def decide(error, failures)
        return @queue.strategy.call([error], failures) if @queue.strategy.respond_to?(:call)
        return :dispatch if @topic.retries.non_retryable.any? { |klass| error.is_a?(klass) }

        failures > @queue.max_retries ? :dispatch : :retry
      end

      # The message that the consumer had come to; with manual marks, the first that is not marked.
      def victims(messages, done)
        left = messages.select { |message| message.offset >= done }
        return left if @queue.strategy == :all

        [(messages.current unless @topic.manual_offset_management) || left.first]
      end

      # All are sent before the first is waited for.
      # @param done [#call, nil] told of each message that the broker has
      # @yieldparam message [Message]
      # @yieldreturn [Exception] why it goes there
      def bury(messages, attempts, done = nil)
        producer = @application.producer
        sent = messages.map do |message|
          error = yield(message)
          [message, error, send_letter(producer.client, message, letter(message, error, attempts))]
        end
        sent.each do |message, error, handle|
          confirm(handle, message, producer.config.max_wait_timeout)
          done&.call(message)
          tell(message, error)
        end
      end

      # By the client behind waterdrop, whose own rules (no empty keys, no headers without a value) are not Kafka's: a
      # message that breaks one of them would be tried for ever.
      def send_letter(client, message, letter)
        client.produce(**letter)
      rescue Rdkafka::RdkafkaError => error
        raise Guildhall::Error, undelivered(message, error)
      end

      def confirm(handle, message, timeout_ms)
        handle.wait(max_wait_timeout_ms: timeout_ms)
      rescue Rdkafka::RdkafkaError, Rdkafka::AbstractHandle::WaitTimeoutError => error
        raise Guildhall::Error, undelivered(message, error)
      end

      def undelivered(message, error)
        "#{message.topic}/#{message.partition}@#{message.offset} could not be sent to the dead letter topic #{@queue.topic}, " \
          "and is tried again: #{error.message}"
      end

      def tell(message, error)
        @application.publish("dead_letter_queue.dispatched", topic: message.topic, partition: message.partition,
          offset: message.offset, to: @queue.topic, error_class: error.class.name)
      end

      def letter(message, error, attempts)
        {topic: @queue.topic, payload: message.raw_payload, key: message.raw_key,
         headers: {**message.raw_headers, **HEADERS.zip(origin(message, error, attempts)).to_h}}
      end

      def origin(message, error, attempts)
        [message.topic, message.partition.to_s, message.offset.to_s, @topic.group, attempts.to_s, error.class.name.to_s]
      end
    end
  end
end
