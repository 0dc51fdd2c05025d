# frozen_string_literal: true

require_relative "librdkafka"

module Guildhall
  module Kafka
    # The commits of one client, one after the other. Where there is no coordinator librdkafka puts commits off, and sends
    # all of them in an order of its own once there is one again: if an old one arrives last, the committed offset goes
    # back. Used by any thread.
    class Commits
      SLICE_MS = 100 # so that a thread that waits can be interrupted
      PAUSE = 0.2 # seconds before another try
      # Codes of errors that pass: _TRANSPORT, _TIMED_OUT, _WAIT_COORD, _TIMED_OUT_QUEUE, REQUEST_TIMED_OUT,
      # NETWORK_EXCEPTION, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
      PASSING = [-195, -185, -180, -166, 7, 13, 14, 15, 16].freeze

      # @param client [Client]
      def initialize(client)
        @client = client
        @queue = client.with_handle { |handle| Librdkafka.rd_kafka_queue_new(handle) }
        @turn = Thread::Queue.new << true # whoever has it may commit
        @since = nil
        @lock = Mutex.new
        @lower = @sent = {}
      end

      # Commits what was stored, in the background. While a commit is under way nothing happens: the next call will do.
      # Does not block.
      # @return [Integer] librdkafka's error code of the commit before; 0: there is nothing to tell
      def start
        in_turn(0) do |handle|
          code = answer(0)
          dispatch(handle) if code
          code
        end || 0
      end

      # Commits what was stored. Blocks for the broker's answer, and tries again where the reason to fail may pass.
      # @param timeout [Numeric] seconds
      # @return [Integer] librdkafka's error code; 0: committed
      def complete(timeout)
        deadline = Clock.now + timeout
        in_turn(timeout) do |handle|
          code = await(deadline)
          loop do
            break if code.nil?

            code = dispatch(handle)
            code = await(deadline) if code.zero?
            break unless again?(code, deadline)
          end
          code
        end || Librdkafka::TIMED_OUT
      end

      # @param seconds [Numeric]
      # @return [Boolean] whether a commit has been under way for longer
      def overdue?(seconds)
        since = @since
        !since.nil? && Clock.now - since > seconds
      end

      # What is to be committed next, although it lies before what was committed last: of what is stored librdkafka commits
      # only what lies beyond.
      # @return [void]
      def lower(topic, partition, offset, metadata)
        @lock.synchronize { @lower[[topic, partition]] = [offset, metadata] }
      end

      # Before the client is closed; nothing is committed from now on.
      # @return [void]
      def close
        had = @turn.pop(timeout: PAUSE)
        @turn.close
        Librdkafka.rd_kafka_queue_destroy(@queue) if had
      end

      private

      # @yieldparam handle [FFI::Pointer] the client is not closed meanwhile
      # @return [Object, nil] what the block returns; nil: it was not its turn in time
      def in_turn(timeout, &)
        turn = @turn.pop(timeout:) or return
        @client.with_handle(&)
      ensure
        give_back(turn) if turn
      end

      def give_back(turn)
        @turn << turn
      rescue ClosedQueueError
        nil # there are no more turns
      end

      def dispatch(handle)
        @sent = @lock.synchronize { @lower.tap { @lower = {} } }
        list = native(@sent)
        code = Librdkafka.rd_kafka_commit_queue(handle, list, @queue, nil, nil)
        @since = code.zero? ? Clock.now : nil
        code
      ensure
        Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(list) if list
      end

      # @return [FFI::Pointer, nil] nil: what was stored
      def native(offsets)
        return if offsets.empty?

        topics = offsets.group_by { |(topic, _), _| topic }.transform_values do |some|
          some.map { |(_, partition), (offset, metadata)| Rdkafka::Consumer::Partition.new(partition, offset, 0, metadata) }
        end
        Rdkafka::Consumer::TopicPartitionList.new(topics).to_native_tpl
      end

      # @return [Integer, nil] nil: none came in time
      def await(deadline)
        until (code = answer(SLICE_MS))
          break if Clock.now > deadline || @turn.closed?
        end
        code
      end

      # @return [Integer, nil] the code of the commit under way; nil: it has not been answered
      def answer(wait_ms)
        return 0 unless @since

        event = Librdkafka.rd_kafka_queue_poll(@queue, wait_ms)
        return if event.null?

        @since = nil
        Librdkafka.rd_kafka_event_error(event).tap { |code| put_back if PASSING.include?(code) }
      ensure
        Librdkafka.rd_kafka_event_destroy(event) if event && !event.null?
      end

      def put_back
        @lock.synchronize { @lower = @sent.merge(@lower) }
      end

      # Lower offsets go first, and alone.
      def again?(code, deadline)
        return @sent.any? if code&.zero?
        return false unless PASSING.include?(code) && Clock.left(deadline) > PAUSE

        sleep(PAUSE)
        true
      end
    end
  end
end
