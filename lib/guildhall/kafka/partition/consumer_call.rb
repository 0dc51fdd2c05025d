# frozen_string_literal: true

require "forwardable"
require "guildhall/error_boundary"
require "guildhall/shared_regexp"
require_relative "middleware"
require_relative "forwarding"

module Guildhall
  module Kafka
    class Partition
      # One consumer, and the call of `consume` that it is in: what it asks of its partition, and what it has said about its
      # messages. A partition has one, or, with virtual partitions, one for each of them, and one for consumption in order.
      # @api private
      class ConsumerCall
        extend Forwardable

        # What a call of `consume` has come to: what it was called with; what it has raised, nil: it has returned; and whether all of its
        # messages are done, or only what was marked.
        Result = Data.define(:messages, :error, :whole)

        OFFSETS = 0...((2**63) - 1) # of messages: the one after it is an offset, too
        private_constant :OFFSETS

        def_delegators :@partition, :topic, :name, :number, :pause, :resume, :paused?, :seek, :revoked?, :stopping?,
          :synchronize, :collapsed?, :statistics

        # @return [ThreadGroup, nil] see {Runtime::LeftThreads.started}
        attr_reader :threads

        # @param shared [Boolean] whether it gets a share of each batch beside others
        # @raise what the consumer's `initialized` raises
        def initialize(partition, shared: false)
          @partition = partition
          @progress = partition.progress
          @shared = shared
          @middleware = partition.runtime.config.middleware
          @consumer = @threads = @messages = @attempt = @transaction = nil
          @only_marks = @marked = false
          @sent = Hash.new(0) # how often this call has sent each message to a topic
          with_consumer(:initialized, &:itself)
        end

        # @param attempt [Integer, nil] nil: the partition's
        # @yieldparam result [Result] exactly once, also where the consumer ends this thread
        def consume(messages, attempt = nil)
          result = nil
          ErrorBoundary.contain(->(error) { result = Result.new(messages, error, false) }) do
            result = Result.new(messages, nil, call_consumer(messages, attempt))
          end
        ensure
          yield result
        end

        # (see Progress#done?)
        def done?(offset) = @progress.done?(offset)

        def attempt = @attempt || @partition.attempt

        # @param event [Symbol] a method of the consumer, called with the arguments
        def dispatch(event, *arguments)
          @sent = Hash.new(0)
          with_consumer(event) { |consumer| consumer.public_send(event, *arguments) }
        end

        # Calls the application's middleware, and within it the block, whose value is returned.
        # @param event [Symbol] what is about to happen
        # @param messages [Messages, Array<Message>, nil] with these
        def wrap(event, messages = @messages, &block)
          return block.call if @middleware.empty?

          Middleware.call(@middleware, Middleware::Call.new(topic:, name:, partition: number, event:, messages:, attempt:), &block)
        end

        # Only what was marked is done when `consume` returns, unless the block comes to its end.
        def only_marks
          before = @only_marks
          @only_marks = true
          yield
          @only_marks = before
        end

        # Only what was marked is done when `consume` returns.
        def redeliver_unmarked
          @only_marks = true
        end

        # @return [Producer] of the transaction that is open, else the application's
        def producer = @transaction&.producer || @partition.runtime.producer

        # (see Forwarding#forward)
        def forward(records, **how, &)
          return Forwarding.forward_at_once(records, producer, @partition.runtime) if @transaction

          @partition.forwarding.forward(records, @sent, **how, &)
        end

        # (see Consumer#transaction)
        def transaction
          return yield if @transaction

          @partition.transaction do |marks|
            @transaction = marks
            yield
          ensure
            @transaction = nil
          end
        end

        def application = @partition.runtime.application

        # @param message [Message] with virtual partitions, it and those before it in this share are done; else it and all before it
        # @return [Boolean] false when it was not stored: the partition is no longer ours, or a seek has made it void
        # @raise [Guildhall::ArgumentError] for a message of another partition, whose offset means nothing here
        def mark(message, metadata = nil)
          own!(message)
          mark_up_to(message.offset, message.batch, metadata)
        end

        # @return [Boolean] as {#mark}
        # @raise [Guildhall::ArgumentError] if it is not an offset, or lies behind what was read: that would never be consumed
        def mark_offset(offset, metadata = nil)
          unless offset.is_a?(Integer) && OFFSETS.cover?(offset)
            raise Guildhall::ArgumentError, "mark_offset takes an Integer, the offset of a message, not #{offset.inspect}"
          end

          batch = @messages&.batch
          unread = [@progress.read_to, batch&.end_offset].compact.max
          return mark_up_to(offset, batch, metadata) if unread.nil? || offset < unread

          raise Guildhall::ArgumentError, "mark_offset(#{offset}): offset #{unread} and what comes behind it was not read yet, and would " \
                                          "never be; mark the offset of a message that was consumed"
        end

        # (see Consumer#offset_metadata)
        def offset_metadata = @progress.metadata

        # @return [Integer, nil] the offset behind the batch; between two batches that of the message read next, nil before the first
        def next_offset = @messages&.batch&.end_offset || @progress.read_to

        # Commits what was marked. Blocks for the broker's answer. In a transaction: nothing, that commits it.
        # @return [Boolean] false when the partition is no longer ours
        def commit = @transaction ? !@progress.closed? : @progress.commit

        private

        def with_consumer(event)
          wrap(event) { yield(present_consumer) }
        end

        # Where code is reloaded, an instance of the class as it is now.
        def present_consumer
          klass = @partition.runtime.consumer_class(topic.consumer)
          return @consumer if @consumer.instance_of?(klass)

          before = @consumer
          @consumer = nil
          before&.shutdown
          @threads = Runtime::LeftThreads.started do
            @consumer = klass.new.tap do |consumer|
              consumer.call = self
              consumer.initialized
            end
          end
          @consumer
        end

        # @return [Boolean] see {Result}
        def call_consumer(messages, attempt)
          @only_marks = @marked = false
          @sent = Hash.new(0)
          @messages = messages
          @attempt = attempt
          with_consumer(:consume) do |consumer|
            consumer.messages = messages.hand_over
            consumer.consume
          ensure
            consumer.messages = nil
          end
          # What is to follow each call that has returned belongs here. If it raises, the call has failed: its messages are consumed again.
          !(@only_marks || (@marked && (stopping? || revoked?)))
        ensure
          @messages = @attempt = nil
        end

        def own!(message)
          known = message.is_a?(Message)
          return if known && message.partition == number && message.topic == name

          given = known ? message.inspect : Config::Secrets.kind(message) # it may be a payload
          raise Guildhall::ArgumentError, "mark_as_consumed takes a message of #{@partition}, not #{given}"
        end

        # It is stored with what is done behind the offset, as one text. What brokers refuse would keep the offset from being committed.
        def text(metadata)
          text = SharedRegexp.utf8(metadata) if metadata.is_a?(String)
          return text if text && text.bytesize <= DoneRanges::BROKERS_MAX_BYTES

          shown = metadata.inspect.then { |all| all.size > 60 ? "#{all[0, 60]}…" : all }
          raise Guildhall::ArgumentError, "metadata beside an offset has to be a String of UTF-8, " \
                                          "of at most #{DoneRanges::BROKERS_MAX_BYTES} bytes, not #{shown}"
        end

        def mark_up_to(offset, batch, metadata)
          metadata = text(metadata) unless metadata.nil?
          @marked = true
          generation = batch ? batch.generation : @progress.generation
          next_offset = batch ? batch.offset_after(offset) : offset + 1
          return @transaction.add(next_offset, generation, metadata) if @transaction
          return @progress.mark(next_offset, generation, metadata) unless @shared

          messages = @messages # which a runner may exchange while a thread of the consumer's own marks
          # Of an earlier batch it is not known what lies before it in this share.
          @progress.mark_each(generation, metadata) do
            messages && batch.equal?(messages.batch) ? messages.next_steps(offset) : [[offset, next_offset]]
          end
        end
      end
    end
  end
end
