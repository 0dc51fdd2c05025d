# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "settings/rules"

module Guildhall
  module Kafka
    # The superclass of an application's consumers. One instance handles one partition for as long as it is assigned
    # (with virtual partitions: one of each); its methods are called by runner threads of the main Ractor, never by two
    # at once.
    #
    #     class OrdersConsumer < Guildhall::Kafka::Consumer
    #       def consume
    #         messages.each { |message| Order.upsert(message.payload) }
    #       end
    #     end
    #
    # When `consume` returns, its messages are done; when it raises, it is called again after a pause with those that
    # were not marked as consumed. To leave it early, mark what is done and call {#redeliver_unmarked}, or iterate with
    # {Messages#each_marking}. Start a consumer's own threads in `initialized` and end them in `revoked`
    # and `shutdown`: one of the two is always called.
    class Consumer
      # Karafka's names for places that are Strings or Symbols there.
      PLACES = {"earliest" => :earliest, "latest" => :latest}.freeze
      EVERY_RULES = OptionRules.new(seconds: OptionRules.seconds, block: OptionRules.kind("a block", Proc))
      # The messages have payloads, which no text shows.
      PIPE_RULES = OptionRules.new(
        topic: Settings::Rules::TOPIC_NAME, headers: OptionRules.kind("a Hash", Hash).or(nil),
        messages: OptionRules.rule("messages, as `messages` and Arrays of them are") do |given|
          wrong = given.is_a?(Enumerable) ? given.to_a.reject { |one| one.respond_to?(:raw_payload) } : [given]
          wrong.empty? || "must be messages, as `messages` and Arrays of them are, not #{Config::Secrets.kind(wrong.first)}"
        end
      )
      private_constant :PLACES, :EVERY_RULES, :PIPE_RULES

      # A block, and how often it is run.
      # @api private
      Period = Data.define(:seconds, :block)

      class << self
        # Calls the block periodically in each consumer of this class, for as long as its partition is assigned. A runner thread calls it,
        # never at the same time as another method of that consumer: if it is due while the consumer is at work, once afterwards.
        # @param seconds [Numeric] by the process's clock: the first time comes sooner after an assignment
        # @raise [Guildhall::ArgumentError] if it is no time, or there is no block
        def every(seconds, &block)
          EVERY_RULES.check!({seconds:, block:}, owner: "every")
          @periods = [*@periods, Period.new(seconds:, block:)].freeze
        end

        # @!visibility private
        # @return [Array<Period>] those of the superclass first
        def periods = [*(superclass.periods if superclass.respond_to?(:periods)), *@periods]
      end

      # @return [Messages] the batch
      attr_accessor :messages
      # @!visibility private
      attr_writer :call

      # Called once, before anything else.
      def initialized; end

      # Called every 5 seconds, also while there are no messages. For other intervals: {.every}.
      def tick; end

      # Called when the partition's end was reached, where the librdkafka setting `enable.partition.eof` is true.
      def eofed; end

      # Called when the partition went to another member of the group.
      def revoked; end

      # Called when the process stops.
      def shutdown; end

      # @return [Routing::Topic] the route
      def topic = @call.topic

      # The topic's name; with a pattern, the one that matched.
      def topic_name = @call.name
      def partition = @call.number

      # 1 at first, 2 when `consume` is called again after it raised, and so on.
      def attempt = @call.attempt
      def retrying? = attempt > 1

      # With virtual partitions: whether the partition is consumed in order for now, after a failure.
      def collapsed? = @call.collapsed?

      # Whether the partition has gone, or is about to go, to another member. A consumer that has marked messages may return early then:
      # the member consumes again what was not marked as consumed.
      def revoked? = @call.revoked?

      # Whether the process is about to stop. A consumer may return early as in {#revoked?}: the rest is consumed after the next start.
      def stopping? = @call.stopping?

      # This message and all before it are done; committed within `config.commit_interval`. Does not block.
      # @param message [Message] of this partition
      # @param metadata [String, nil] kept beside the offset by the broker, as UTF-8; at most 4,096 bytes
      # @return [Boolean] false when the partition is no longer ours
      # @raise [Guildhall::ArgumentError] for a message of another partition, and for metadata that cannot be kept
      def mark_as_consumed(message, metadata = nil) = @call.mark(message, metadata)

      # Like {#mark_as_consumed}, but commits at once and blocks for the broker's answer; in a transaction, with that.
      def mark_as_consumed!(message, metadata = nil) = @call.mark(message, metadata) && @call.commit

      # Like {#mark_as_consumed}.
      # @param offset [Integer] of the last message that is done
      def mark_offset(offset, metadata = nil) = @call.mark_offset(offset, metadata)

      # Commits what was marked; blocks for the broker's answer.
      # @return [Boolean] false when the partition is no longer ours
      def commit_offsets! = @call.commit

      # The metadata beside this partition's offset: what was last given to {#mark_as_consumed} and the like here, else what the group has
      # committed. Blocks for the broker's answer unless some was given here; also in {#initialized}.
      # @return [String, nil] nil: there is none
      # @raise [Rdkafka::RdkafkaError] where no broker answers
      def offset_metadata = @call.offset_metadata

      # What librdkafka's statistics say of this partition, at most some seconds old: `consumer_lag`, `fetchq_cnt`, `rxbytes` and others
      # (librdkafka's STATISTICS.md). Does not block.
      # @return [Hash{String=>Object}, nil] nil: there are none yet
      def statistics = @call.statistics

      # Only messages that are marked as consumed are done when `consume` returns; the others are delivered again: at once when
      # some were marked, else after a pause. Does not end `consume` by itself, and does not count as an attempt.
      def redeliver_unmarked = @call.redeliver_unmarked

      # Hands out no more messages of this partition once `consume` has returned; other partitions go on.
      # @param offset [Integer, Symbol, Time, nil] where to go on, as in {#seek}, but not behind the message after this batch; nil or
      #   :consecutive: with that message
      # @param seconds [Numeric, nil] nil: until {#resume}
      # @param manual [true] Karafka's third argument; anything else is refused
      # @raise [Guildhall::ArgumentError] also for an offset that would skip messages (the seconds perhaps), and where the seconds look
      #   like milliseconds, which Karafka's are
      def pause(offset = nil, seconds = nil, manual = true) # rubocop:disable Style/OptionalBooleanParameter -- as in Karafka
        refuse("pause", "manual_pause: #{manual.inspect}") unless manual == true
        problem = seconds && Settings::Rules::DURATION_OR_ZERO.problem(seconds)
        raise Guildhall::ArgumentError, "pause #{problem}" if problem

        refuse_skipping(offset) if offset.is_a?(Integer)
        seek(offset) unless offset.nil? || offset == :consecutive
        @call.pause(seconds)
      end

      # Ends a pause. May be called by any thread.
      def resume = @call.resume
      def paused? = @call.paused?

      # Where to go on once `consume` has returned, instead of after this batch; the committed offset goes back with it. Does
      # not block. If the broker cannot resolve the target offset, the seek is retried and an `error.occurred` event (type
      # `seek`) is published each time.
      # @param target [Integer, Symbol, String, Time] an offset, :earliest, :latest, or the first message at or after a time
      # @param manual [true] Karafka's second argument; anything else is refused
      # @param reset_offset [true] Karafka's keyword: what is marked from now on may lie before what was marked until now
      # @raise [Guildhall::ArgumentError]
      def seek(target, manual = true, reset_offset: true) # rubocop:disable Style/OptionalBooleanParameter -- as in Karafka
        refuse("seek", "manual_seek: #{manual.inspect}") unless manual == true
        refuse("seek", "reset_offset: #{reset_offset.inspect}") unless reset_offset == true
        @call.seek(PLACES.fetch(target, target))
      end

      # The application's producer, which the following methods use; in a transaction, its own.
      # Any thread.
      # @return [Producer] a {Producing::TransactionalProducer} in a transaction
      def producer = @call.producer

      # Those named `sync` block for the broker's answer.
      def produce_async(...) = producer.produce_async(...)
      def produce_sync(...) = producer.produce_sync(...)
      def produce_many_async(...) = producer.produce_many_async(...)
      def produce_many_sync(...) = producer.produce_many_sync(...)

      # (see Delaying::DelayedProducing#produce_later)
      def produce_later(...) = producer.produce_later(...)

      # Sends messages to another topic with their bytes, key and headers, in their order. Messages with a key go where the partitioner
      # sends that key; those without one stay together by the partition that they come from. Does not mark them.
      #
      # Blocks until the broker has all of them, but for a few seconds only: if it has not by then, or if the topic is missing or may not
      # be written to, this raises. Then the partition waits until the broker has all, and the consumer is called again; what has arrived
      # is not sent again by that call. In a transaction nothing waits: it is aborted, and repeated after a pause.
      # @param headers [Hash{String=>String}] more of them
      # @raise [Guildhall::ArgumentError] for arguments that mean nothing
      # @raise [ForwardingError] (a {Guildhall::TimeoutError}) when the broker does not take one in time
      # @raise [Rdkafka::RdkafkaError] when it refuses one, as too large for instance
      def pipe_to(topic, messages = self.messages, headers: {})
        PIPE_RULES.check!({topic: topic.to_s, messages:, headers:}, owner: "pipe_to")
        records = messages.to_a.map do |message|
          [message, {topic: topic.to_s, payload: message.raw_payload, key: message.raw_key,
                     headers: {**message.raw_headers, **headers}}.compact]
        end
        @call.forward(records)
        nil
      end

      # What the block produces (`produce_async` and the others, `pipe_to`, {#producer}) and marks as consumed is committed together, or
      # not at all: readers of what is produced see each message's results exactly once. The block has to end; if it raises, the
      # transaction is aborted, and the partition's rules for retries hold. Blocks for the brokers' answers. Needs
      # `transactional` in the route. One within another is part of that one.
      # @return [Object] what the block returns
      # @raise [TransactionError] when it could not be committed, for a reason that lies not with a message: let it pass
      # @raise [TransactionExitError] when the block is left by return, break or throw
      # @raise [Guildhall::ArgumentError] where the route does not say `transactional`
      def transaction(&) = @call.transaction(&)

      # Runs the block while no other virtual partition of this partition is in such a block.
      # @return [Object] what the block returns
      def synchronize(&) = @call.synchronize(&)

      # A class that was reloaded meanwhile may have fewer periods.
      # @!visibility private
      def periodic(index) = self.class.periods[index]&.then { |period| instance_exec(&period.block) }

      private

      def refuse_skipping(offset)
        following = @call.next_offset
        return if following.nil? || offset <= following

        raise Guildhall::ArgumentError, "pause(#{offset}) would skip the messages from offset #{following} on: the first argument is an " \
                                        "offset, seconds are the second one, pause(nil, 30); to skip messages, seek(#{offset}) and pause"
      end

      def refuse(method, argument)
        raise Guildhall::ArgumentError, "#{method} does not take #{argument}: only true, which is the default"
      end
    end
  end
end
