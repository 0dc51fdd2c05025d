# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/signal_trap"
require_relative "delaying"
require_relative "errors"
require_relative "producing/client"
require_relative "producing/delivery"

module Guildhall
  module Kafka
    # Sends messages. Its methods have the names that users of WaterDrop know. Any thread of the main Ractor; after a fork the child
    # makes a connection of its own, and has nothing of its parent's buffer.
    #
    # A message is a Hash: `topic` (a String or a Symbol), `payload` (nil: a tombstone), and where they are wanted `key`, `partition`
    # (nil: the partitioner decides), `partition_key` (bytes that the partitioner takes for the key), `timestamp` (milliseconds or a
    # Time; nil and 0: now) and `headers` (Hash; a value may be nil, or an Array).
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
        # @raise [Guildhall::ArgumentError] when it is no message at all, or a step has not returned one
        def run(message)
          Producing::Sender.check!(message) unless message.is_a?(Hash)
          @steps.empty? ? message : @steps.reduce(thawed(message)) { |made, step| returned(step.call(made), step) }
        end

        private

        # A step may add headers to those of a message that was consumed.
        def thawed(message)
          return message unless message.frozen? || message[:headers].frozen?

          message[:headers].nil? ? message.dup : message.merge(headers: message[:headers].dup)
        end

        def returned(message, step)
          return message if message.is_a?(Hash)

          place = step.source_location&.join(":") if step.respond_to?(:source_location)
          raise Guildhall::ArgumentError, "a step of producer_middleware (#{place || step.class}) must return the message that goes on, " \
                                          "not #{Config::Secrets.kind(message)}"
        end
      end

      # @return [Middleware]
      attr_reader :middleware

      # @param settings [Hash{Symbol=>Object}] librdkafka's; the framework's own are in {Producing::Settings}
      # @param steps [Array<#call>] what becomes of each message before it is sent: takes it, returns the one that goes on
      # @param full_seconds [Numeric] that a call waits while the queue is full
      # @param listener [#call] called with events of librdkafka ({Producing::Sender#poll}) in a thread of the producer
      def initialize(settings, steps: [], full_seconds: 10, listener: ->(_event) {})
        @settings = settings.transform_keys(&:to_sym)
        @middleware = Middleware.new(steps)
        @full_seconds = full_seconds
        @listener = listener
        @lock = Mutex.new
        @buffer = []
        @buffer_pid = Process.pid
        @closed = false
      end

      # @!attribute [w] on_produced
      #   @return [#call, nil] called after each call of a method that produces, with topic, size, bytes, seconds and sync
      attr_writer :on_produced

      # @!visibility private
      # @return [#call, nil] called in a process that was forked from the one that it was made in, once it is used there
      attr_writer :on_fork

      # @!visibility private
      # @return [Producing::Transactions, nil] nil: it has none
      attr_writer :transactions

      # Runs the block in a transaction: what it produces is there together, or not at all, for readers of what is committed
      # (`isolation.level` `read_committed`). All that the calling thread produces with this producer belongs to it, and what is produced
      # with the one that the block gets, which other threads may use. One transaction at a time: others wait. Blocks for the brokers'
      # answers. A `transaction` within another is part of it.
      # @yieldparam producer [Producing::TransactionalProducer]
      # @return [Object] what the block returns
      # @raise what the block raises: the transaction is aborted
      # @raise [TransactionExitError] when the block is left by return, break or throw: it is aborted as well
      # @raise [ProduceError] when a message was refused for what it is: it is aborted
      # @raise [TransactionError] when it could not be committed for another reason: nothing of it is there, unless the message says that
      #   it is not known
      # @raise [ClosedProducerError] after {#close}
      # @raise [Guildhall::ArgumentError] unless `config.producer` has a transactional.id
      def transaction(&)
        unless @transactions
          raise Guildhall::ArgumentError,
            'transaction needs a transactional.id: config.producer = {"transactional.id": "…"}, a name that no other process has at the ' \
            "same time. In a consumer, call its own transaction"
        end
        raise closed if @closed

        @transactions.run(&)
      end

      # Does not wait for a broker, but for up to `full_seconds` for room in the queue.
      # @return [Producing::Delivery] to wait for, if that is wanted
      # @raise [QueueFullError] when there is no room
      # @raise [ProduceError] when the message cannot be sent
      # @raise [ClosedProducerError] after {#close}
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
      # @raise as {#produce_async}: nothing was sent, but for the first ones, which a ProduceError or a ClosedProducerError has in
      #   `dispatched`
      def produce_many_async(messages, run_middleware: true) = send_all(prepare_all(messages, run_middleware), false)

      # As {#produce_sync} for many.
      # @return [Array<Producing::Delivery>] which have all arrived
      # @raise [ProduceError] the first that was not delivered, all of them in `dispatched`
      def produce_many_sync(messages, run_middleware: true) = all_arrived(send_all(prepare_all(messages, run_middleware), true))

      # Deletes a key's value, in topics that are compacted: sends it without a payload.
      def tombstone_async(topic:, key:, **rest) = produce_async({topic:, key:, **rest, payload: nil})

      # As {#tombstone_async}; blocks until a broker has it.
      def tombstone_sync(topic:, key:, **rest) = produce_sync({topic:, key:, **rest, payload: nil})

      # As {#produce_many_async}, each message without its payload.
      def tombstone_many_async(messages) = produce_many_async(many(messages).map { |message| {**message, payload: nil} })

      # As {#produce_many_sync}, each message without its payload.
      def tombstone_many_sync(messages) = produce_many_sync(many(messages).map { |message| {**message, payload: nil} })

      # Keeps a message until the next {#flush_async}, {#flush_sync} or {#close}; the steps see it now.
      # @return [Integer] messages that are kept
      # @raise [ClosedProducerError] after {#close}
      # @raise [Guildhall::ArgumentError] when it is none, and whatever the steps raise
      def buffer(message) = buffer_many([message])

      # (see #buffer)
      def buffer_many(messages)
        SignalTrap.refuse!
        messages = made(messages)
        @lock.synchronize do
          raise closed if @closed

          kept.concat(messages).size
        end
      end

      # @!visibility private
      # @return [Array<Hash>] messages that were checked, after the steps
      # @raise as {#buffer}
      def made(messages) = many(messages).map { |message| checked(@middleware.run(message)) }

      # Sends what is kept. What could not be sent is kept.
      # @return [Array<Producing::Delivery>]
      # @raise [ProduceError, ClosedProducerError]
      def flush_async = flush(false)

      # As {#flush_async}; blocks until a broker has all of them.
      # @return [Array<Producing::Delivery>]
      # @raise as {#produce_many_sync}
      def flush_sync = all_arrived(flush(true))

      # Drops what is kept, and what was not delivered yet, which fails: {Producing::Delivery#wait} raises.
      def purge
        SignalTrap.refuse!
        @transactions&.of_this_thread&.purge # which refuses that
        @lock.synchronize { kept.clear }
        opened&.purge
      end

      # @!visibility private
      # @return [Numeric] seconds that a call waits for brokers
      def wait_seconds = Producing::Delivery::WAIT_SECONDS

      # @!visibility private
      # For messages that the framework sends: bytes as they are. The caller tells of one that fails.
      # @param seconds [Numeric] to wait for room in the queue
      # @return [Producing::Delivery]
      # @raise [ProduceError]
      def start(message, seconds = 0) = start_all([message], seconds).first

      # @!visibility private
      # As {#start} for many: librdkafka has taken the first ones where it raises, which the error has in `dispatched`.
      # @return [Array<Producing::Delivery>]
      def start_all(messages, seconds) = handles(hand_over(messages, true, Clock.now + seconds), messages)

      # @!visibility private
      # @return [Hash{Symbol=>Object}] for {#start}: a message after the steps, with the partition of its `partition_key`
      def prepared(message) = partitioned(checked(@middleware.run(message)))

      # @return [Integer] messages that are not delivered yet
      def queue_size = opened&.queue_size || 0

      # Blocks for a broker's answer; the answer is remembered for a while.
      # @return [Integer] -1: there is no such topic
      def partition_count(topic) = count_partitions(topic.to_s) { client }

      # Delivers what was produced, and what is kept in the buffer, and closes. Blocks for up to three minutes.
      # @param deadline [Float] of the {Clock}
      # @yieldparam left [Integer] messages that are not delivered yet
      # @yieldreturn [Boolean] whether they are to be dropped at once
      # @return [Boolean] whether all was delivered; what was not is dropped
      def close(deadline = Clock.now + Producing::Delivery::WAIT_SECONDS, &)
        SignalTrap.refuse!
        client, messages = @lock.synchronize do
          messages = @closed ? [] : kept
          client = (@client if @pid == Process.pid) || (open if messages.any?) # also where a close before was interrupted
          @closed = true
          @buffer = []
          [client, messages]
        end
        return true unless client

        handed_over = hand_over_at_last(client, messages, deadline)
        client.close(deadline, &) && handed_over
      end

      def closed? = @closed

      def inspect = "#<#{self.class} #{@closed ? "closed" : "#{queue_size} messages on their way"}>"

      protected

      # @param sync [Boolean] whether to wait until all have arrived, or failed
      # @yieldparam taken [Integer] how many librdkafka has taken, the first ones; whatever is raised then
      def send_all(messages, sync, &)
        return [] if messages.empty?

        transaction = @transactions&.of_this_thread
        return transaction.send_all(messages, sync, &) if transaction

        started = Clock.now
        deliveries = hand_over(messages, sync, &)
        await(deliveries, messages) if sync
        @on_produced&.call(**figures(messages), seconds: Clock.now - started, sync:)
        handles(deliveries, messages)
      end

      private

      def many(messages)
        return messages if messages.is_a?(Array)
        return messages.to_a if messages.respond_to?(:to_a) && !messages.is_a?(Hash) && !messages.nil?

        raise Guildhall::ArgumentError, "an Array of messages is needed, not #{Config::Secrets.kind(messages)}"
      end

      def prepare_all(messages, with_steps)
        messages = many(messages)
        with_steps ? messages.map { |message| prepare(message) } : messages
      end

      def prepare(message) = partitioned(@middleware.run(message))

      def checked(message)
        Producing::Sender.check!(message.except(:partition_key))
        bytes = message[:partition_key]
        return message if bytes.nil? || bytes.is_a?(String)

        raise Guildhall::ArgumentError, "a message's partition_key must be a String or nil, not #{Config::Secrets.kind(bytes)}"
      end

      # @yieldreturn [Producing::Client] that is asked for the topic's partitions
      def partitioned(message)
        return message unless message.key?(:partition_key)

        bytes = message[:partition_key]
        message = checked(message).except(:partition_key)
        return message if bytes.to_s.empty? || message[:partition] # of no bytes the gem would crash the process

        count = count_partitions(message[:topic].to_s) { block_given? ? yield : client }
        return message unless count.positive?

        message.merge(partition: Rdkafka::Bindings.partitioner(nil, bytes, count, (@settings[:partitioner] || "consistent_random").to_s))
      end

      def count_partitions(topic) = Rdkafka::Producer.partitions_count_cache.get(topic) { yield.partition_count(topic) || -1 }

      # With the lock held.
      # @return [Array<Hash>] the buffer, of this process
      def kept
        unless @buffer_pid == Process.pid
          @buffer = []
          @buffer_pid = Process.pid
          @on_fork&.call
        end
        @buffer
      end

      def flush(sync)
        SignalTrap.refuse!
        messages = @lock.synchronize { kept.tap { @buffer = [] } }
        taken = 0
        begin
          send_all(messages.map { |message| partitioned(message) }, sync) { |count| taken = count }
        ensure # also when the thread is interrupted
          left = messages.drop(taken)
          @lock.synchronize { @buffer = left + kept } if left.any?
        end
      end

      def all_arrived(sent)
        failure = sent.lazy.filter_map(&:error).first or return sent
        raise failure.tap { |error| error.dispatched = sent }
      end

      # What was kept, when the producer is closed already.
      # @return [Boolean] whether librdkafka has all of it
      def hand_over_at_last(client, messages, deadline)
        messages = messages.map { |message| partitioned(message) { client } }
        deliveries = nil
        until messages.empty?
          deliveries, code = client.hand_over(messages, deliveries, false)
          break if code.zero?
          return false unless code == Broker::Librdkafka::QUEUE_FULL && Clock.now < deadline

          sleep(FULL_PAUSE_SECONDS)
        end
        true
      rescue ProduceError, IOError
        false
      end

      def handles(deliveries, messages)
        Array.new(deliveries.taken) { |index| Producing::Delivery.new(deliveries, index, messages[index][:topic].to_s) }
      end

      # @param limit [Float, nil] of the {Clock}: until when it waits for room in the queue; nil: {#full_limit}
      # @yieldparam taken [Integer] as {#send_all}
      def hand_over(messages, awaited, limit = nil)
        deliveries = nil
        loop do
          client = self.client
          deliveries, code = client.hand_over(messages, deliveries, awaited)
          return deliveries if code.zero?

          if code == Broker::Librdkafka::FATAL && !@closed
            renew(client)
            next deliveries = nil if deliveries.taken.zero? # of another client
          end
          full = code == Broker::Librdkafka::QUEUE_FULL && Clock.now < (limit ||= full_limit)
          full ? sleep(FULL_PAUSE_SECONDS) : raise(refused(code, deliveries, messages))
        rescue IOError # closed meanwhile, by {#close} or {#renew}
          raise refused(Broker::Librdkafka::FATAL, deliveries, messages) if deliveries
        end
      ensure
        yield(deliveries.taken) if deliveries && block_given?
      end

      # @return [Float] of the {Clock}: until when a call waits for room in the queue
      def full_limit = Clock.now + @full_seconds

      def refused(code, deliveries, messages)
        error = @closed ? closed : ProduceError.of(code, messages[deliveries.taken][:topic].to_s)
        error.dispatched = handles(deliveries, messages)
        error
      end

      def closed = ClosedProducerError.new("this producer is closed")

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
        opened || begin
          SignalTrap.refuse!
          @lock.synchronize do
            raise closed if @closed

            opened || open
          end
        end
      end

      def open
        @client = Producing::Client.new(@settings) { |event| @listener.call(event) unless expected?(event) }
        kept
        @pid = Process.pid
        @client
      end

      # What {#close} has dropped, it says itself.
      def expected?((kind, code)) = kind == :undelivered && @closed && Broker::Errors.purged?(code)

      # After a fatal error librdkafka's client does nothing more; what was on its way has failed.
      def renew(client)
        @lock.synchronize { open if @client.equal?(client) && !@closed }
        Thread.new { client.close(Clock.now) }
      end
    end
  end
end
