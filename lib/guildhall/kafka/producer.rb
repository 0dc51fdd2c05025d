# frozen_string_literal: true

require "guildhall/clock"
require_relative "delaying"
require_relative "errors"
require_relative "producing/client"
require_relative "producing/delivery"

module Guildhall
  module Kafka
    # Sends messages. Its methods have the names that users of WaterDrop know. Any thread of the main Ractor; after a fork the child
    # makes a connection of its own.
    #
    # A message is a Hash: `topic` (a String or a Symbol), `payload` (nil: a tombstone), and where they are wanted `key`, `partition`
    # (nil: the partitioner decides), `partition_key` (bytes that the partitioner takes for the key), `timestamp` (milliseconds or a
    # Time) and `headers` (Hash; a value may be nil, or an Array).
    class Producer
      include Delaying::DelayedProducing

      FULL_PAUSE_SECONDS = 0.005
      private_constant :FULL_PAUSE_SECONDS

      # What becomes of each message before it is sent, in this order.
      class Middleware
        # @param steps [Array<#call>] each takes a message, and returns the one that goes on
        def initialize(steps) = @steps = steps.dup

        def prepend(step) = @steps.unshift(step)
        def append(step) = @steps.push(step)

        # @return [Hash]
        def run(message) = @steps.empty? ? message : @steps.reduce(thawed(message)) { |made, step| step.call(made) }

        private

        # A step may add headers to those of a message that was consumed.
        def thawed(message)
          return message unless message.is_a?(Hash) && (message.frozen? || message[:headers].frozen?)

          message[:headers].nil? ? message.dup : message.merge(headers: message[:headers].dup)
        end
      end

      # @return [Middleware]
      attr_reader :middleware

      # @param settings [Hash{Symbol=>Object}] librdkafka's; the framework's own are in {Producing::Settings}
      # @param steps [Array<#call>] what becomes of each message before it is sent: takes it, returns the one that goes on
      # @param full_seconds [Numeric] that a call waits while the queue is full
      # @param listener [#call] called with events of librdkafka ({Producing::Sender#poll}) in a thread of the producer
      def initialize(settings, steps: [], full_seconds: 10, listener: ->(_event) {})
        @settings = settings
        @middleware = Middleware.new(steps)
        @full_seconds = full_seconds
        @listener = listener
        @lock = Mutex.new
        @buffer = []
        @closed = false
      end

      # @!attribute [w] on_produced
      #   @return [#call, nil] called after each call of a method that produces, with topic, size, bytes, seconds and sync
      attr_writer :on_produced

      # Does not wait for a broker, but for up to `full_seconds` for room in the queue.
      # @return [Producing::Delivery] to wait for, if that is wanted
      # @raise [QueueFullError] when there is no room
      # @raise [ProduceError] when the message cannot be sent
      # @raise [Guildhall::ArgumentError] when it is none
      # @raise [Guildhall::EncodeError] and whatever the steps raise
      def produce_async(message) = send_all([prepare(message)], false).first

      # Blocks until a broker has the message.
      # @return [Producing::Delivery::Report] partition and offset
      # @raise as {#produce_async}
      # @raise [Guildhall::TimeoutError] when no broker has answered within three minutes; the message may still arrive
      def produce_sync(message) = send_all([prepare(message)], true).first.wait

      # As {#produce_async} for many, which are handed over in one call.
      # @return [Array<Producing::Delivery>]
      # @raise [ProduceError] with those before the one that cannot be sent in `dispatched`; nothing was sent if a step has raised
      def produce_many_async(messages, run_middleware: true) = send_all(prepare_all(messages, run_middleware), false)

      # As {#produce_sync} for many.
      # @return [Array<Producing::Delivery>] which have all arrived
      # @raise [ProduceError] the first that was not delivered, all of them in `dispatched`
      def produce_many_sync(messages, run_middleware: true)
        sent = send_all(prepare_all(messages, run_middleware), true)
        failure = sent.lazy.filter_map(&:error).first or return sent
        raise failure.tap { |error| error.dispatched = sent }
      end

      # Deletes a key's value, in topics that are compacted: sends it without a payload.
      def tombstone_async(topic:, key:, **rest) = produce_async({topic:, key:, **rest, payload: nil})

      # As {#tombstone_async}; blocks until a broker has it.
      def tombstone_sync(topic:, key:, **rest) = produce_sync({topic:, key:, **rest, payload: nil})

      # Keeps a message until the next {#flush_async}, {#flush_sync} or {#close}.
      # @return [Integer] messages that are kept
      def buffer(message) = buffer_many([message])

      # (see #buffer)
      def buffer_many(messages) = @lock.synchronize { @buffer.concat(messages).size }

      # Sends what is kept. What could not be sent is kept.
      # @return [Array<Producing::Delivery>]
      # @raise as {#produce_many_async}
      def flush_async = flush_buffer { |messages| produce_many_async(messages) }

      # As {#flush_async}; blocks until a broker has all of them.
      # @return [Array<Producing::Delivery>]
      # @raise as {#produce_many_sync}
      def flush_sync = flush_buffer { |messages| produce_many_sync(messages) }

      # Drops what is kept, and what was not delivered yet, which fails.
      def purge
        take_buffer
        client.purge
      end

      # @!visibility private
      # @return [Numeric] seconds that a call waits for brokers
      def wait_seconds = Producing::Delivery::WAIT_SECONDS

      # @!visibility private
      # For messages that the framework sends: bytes as they are. The caller tells of one that fails.
      # @param seconds [Numeric] to wait for room in the queue
      # @return [Producing::Delivery]
      # @raise [ProduceError]
      def start(message, seconds = 0) = handles(hand_over([message], true, Clock.now + seconds), [message]).first

      # @return [Integer] messages that are not delivered yet
      def queue_size = opened&.queue_size || 0

      # Blocks for a broker's answer; the answer is remembered for a while.
      # @return [Integer] -1: there is no such topic
      def partition_count(topic)
        Rdkafka::Producer.partitions_count_cache.get(topic.to_s) { client.partition_count(topic.to_s) || -1 }
      end

      # Delivers what was produced, and what is kept in the buffer, and closes. Blocks for up to three minutes.
      # @param deadline [Float] of the {Clock}
      # @yieldparam left [Integer] messages that are not delivered yet
      # @yieldreturn [Boolean] whether they are to be dropped at once
      # @return [Boolean] whether all was delivered; what was not is dropped
      def close(deadline = Clock.now + Producing::Delivery::WAIT_SECONDS, &)
        flushed = send_buffer
        client = @lock.synchronize { opened.tap { @closed = true } }
        (client.nil? || client.close(deadline, &)) && flushed
      end

      def closed? = @closed

      def inspect = "#<#{self.class} #{@closed ? "closed" : "#{queue_size} messages on their way"}>"

      private

      def prepare_all(messages, with_steps) = with_steps ? messages.map { |message| prepare(message) } : messages.to_a

      def prepare(message)
        message = @middleware.run(message)
        message.is_a?(Hash) && message.key?(:partition_key) ? partitioned(message) : message
      end

      def partitioned(message)
        bytes = message[:partition_key]
        message = message.except(:partition_key)
        return message if bytes.to_s.empty? || message[:partition] # of no bytes the gem would crash the process

        count = partition_count(message[:topic])
        return message unless count.positive?

        message.merge(partition: Rdkafka::Bindings.partitioner(nil, bytes, count, (@settings[:partitioner] || "consistent_random").to_s))
      end

      def take_buffer = @lock.synchronize { @buffer.tap { @buffer = [] } }

      def flush_buffer
        messages = take_buffer
        yield messages
      rescue StandardError => error
        left = error.is_a?(ProduceError) ? messages.drop(error.dispatched.size) : messages
        @lock.synchronize { @buffer = left + @buffer } unless error.is_a?(TimeoutError)
        raise
      end

      # @return [Boolean] false: not all of it could be sent
      def send_buffer
        flush_async unless @closed
        true
      rescue ProduceError
        false
      end

      # @param sync [Boolean] whether to wait until all have arrived, or failed
      def send_all(messages, sync)
        return [] if messages.empty?

        started = Clock.now
        deliveries = hand_over(messages, sync)
        await(deliveries, messages) if sync
        @on_produced&.call(**figures(messages), seconds: Clock.now - started, sync:)
        handles(deliveries, messages)
      end

      def handles(deliveries, messages)
        Array.new(deliveries.taken) { |index| Producing::Delivery.new(deliveries, index, messages[index][:topic].to_s) }
      end

      # @param limit [Float, nil] of the {Clock}: until when it waits for room in the queue; nil: {#full_limit}
      def hand_over(messages, awaited, limit = nil)
        deliveries = nil
        loop do
          client = self.client
          deliveries, code = client.hand_over(messages, deliveries, awaited)
          return deliveries if code.zero?

          if code == Broker::Librdkafka::FATAL && deliveries.taken.zero?
            deliveries = nil # of another client
            next renew(client)
          end
          full = code == Broker::Librdkafka::QUEUE_FULL && Clock.now < (limit ||= full_limit)
          full ? sleep(FULL_PAUSE_SECONDS) : raise(refused(code, deliveries, messages))
        rescue IOError # closed meanwhile, by {#close} or {#renew}
          raise if deliveries
        end
      end

      # @return [Float] of the {Clock}: until when a call waits for room in the queue
      def full_limit = Clock.now + @full_seconds

      def refused(code, deliveries, messages)
        error = ProduceError.of(code, messages[deliveries.taken][:topic].to_s)
        error.dispatched = handles(deliveries, messages)
        error
      end

      def await(deliveries, messages)
        return if deliveries.wait(nil, wait_seconds)

        raise TimeoutError, "no broker has confirmed #{deliveries.pending} of #{messages.size} messages in time; they may still arrive"
      end

      def figures(messages)
        topics = messages.map { |message| message[:topic].to_s }.uniq
        {topic: (topics.first if topics.one?), size: messages.size, bytes: messages.sum { |message| message[:payload].to_s.bytesize }}
      end

      def opened = (@client if @pid == Process.pid && !@closed)

      def client
        opened || @lock.synchronize do
          raise ClosedProducerError, "this producer is closed" if @closed

          opened || open
        end
      end

      def open
        @client = Producing::Client.new(@settings, &@listener)
        @pid = Process.pid
        @client
      end

      # After a fatal error librdkafka's client does nothing more; what was on its way has failed.
      def renew(client)
        @lock.synchronize { open if @client.equal?(client) }
        Thread.new { client.close(Clock.now) }
      end
    end
  end
end
