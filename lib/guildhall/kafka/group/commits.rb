# frozen_string_literal: true

require "guildhall/clock"
require_relative "../broker/librdkafka"

module Guildhall
  module Kafka
    module Group
      # The commits of one client, one after the other. Where there is no coordinator librdkafka puts commits off, and sends
      # all of them in an order of its own once there is one again: if an old one arrives last, the committed offset goes
      # back. Used by any thread.
      class Commits
        SLICE_MS = 100 # so that a thread that waits can be interrupted
        RETRY_PAUSE_SECONDS = 0.2
        private_constant :SLICE_MS, :RETRY_PAUSE_SECONDS

        def initialize(client)
          @client = client
          @queue = client.with_handle { |handle| Broker::Librdkafka.rd_kafka_queue_new(handle) }
          @permit = Thread::Queue.new << true # the thread that has it may commit
          @since = nil
          @answers = Thread::Queue.new
          @lock = Mutex.new
          @forced = @sent = {}
          @metadata = {}
          @stored_next = false # so that metadata that changes all the time does not hold up what was stored
        end

        # Commits what was stored, in the background. While a commit is under way nothing happens: the next call will do.
        # Does not block.
        # @return [Integer] librdkafka's error code of the commit before; 0: no error
        def start
          with_permit(0) do |handle|
            code = answer(0)
            dispatch(handle) if code
            code
          end || 0
        end

        # Looks whether the commit under way was answered. Does not block.
        # @return [Integer] librdkafka's error code of it; 0: no error, or it was not
        def look = with_permit(0) { answer(0) } || 0

        # @return [Boolean] whether a commit is under way
        def pending? = !@since.nil?

        # Commits what was stored. Blocks for the broker's answer, and tries again where the reason to fail may pass.
        # @param timeout [Numeric] seconds
        # @return [Integer] librdkafka's error code; 0: committed
        def complete(timeout)
          deadline = Clock.now + timeout
          with_permit(timeout) do |handle|
            code = await(deadline)
            loop do
              break if code.nil?

              code = dispatch(handle)
              code = await(deadline) if code.zero?
              break unless again?(code, deadline)
            end
            @lock.synchronize { @metadata = {} }
            code
          end || Broker::Librdkafka::TIMED_OUT
        end

        # @return [Boolean] whether a commit has been under way for longer
        def overdue?(seconds)
          since = @since
          !since.nil? && Clock.now - since > seconds
        end

        # Each is given out once.
        # @return [Array<Array(Integer, Float)>] librdkafka's error code of each commit that was answered, and how many seconds it took
        def answers = Array.new(@answers.size) { @answers.pop }

        # Commits this offset next, although it may lie before what was committed last: of what is stored librdkafka commits only what lies
        # beyond.
        def force_offset(topic, partition, offset, metadata)
          @lock.synchronize { @forced[[topic, partition]] = [offset, metadata] }
        end

        # Commits metadata beside an offset that may be committed already: of what is stored librdkafka commits only other offsets.
        def renew_metadata(topic, partition, offset, metadata)
          @lock.synchronize { @metadata[[topic, partition]] = [offset, metadata] }
        end

        # Another offset was stored: with it, its own metadata is committed.
        def forget_metadata(topic, partition)
          @lock.synchronize { @metadata.delete([topic, partition]) }
        end

        # Before the client is closed; nothing is committed from now on.
        def close
          had = @permit.pop(timeout: RETRY_PAUSE_SECONDS)
          @permit.close
          Broker::Librdkafka.rd_kafka_queue_destroy(@queue) if had
        end

        private

        # @yieldparam handle [FFI::Pointer] the client is not closed meanwhile
        # @return [Object, nil] what the block returns; nil: it was not its permit in time
        def with_permit(timeout, &)
          permit = @permit.pop(timeout:) or return
          @client.with_handle(&)
        ensure
          release(permit) if permit
        end

        def release(permit)
          @permit << permit
        rescue ClosedQueueError
          nil # there are no more turns
        end

        def dispatch(handle)
          @sent = @lock.synchronize { take_offsets }
          list = native(@sent)
          code = Broker::Librdkafka.rd_kafka_commit_queue(handle, list, @queue, nil, nil)
          @since = code.zero? ? Clock.now : nil
          code
        ensure
          Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(list) if list
        end

        # @return [Hash] empty: what was stored is next
        def take_offsets
          return @forced.tap { @forced = {} } if @forced.any?
          return {}.tap { @stored_next = false } if @stored_next || @metadata.empty?

          @stored_next = true
          @metadata.tap { @metadata = {} }
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
            break if Clock.now > deadline || @permit.closed?
          end
          code
        end

        # @return [Integer, nil] the code of the commit under way; nil: it has not been answered
        def answer(wait_ms)
          return 0 unless @since

          event = Broker::Librdkafka.rd_kafka_queue_poll(@queue, wait_ms)
          return if event.null?

          took = Clock.now - @since
          @since = nil
          Broker::Librdkafka.rd_kafka_event_error(event).tap do |code|
            send_again if Broker::Errors.outage?(code) && !@stored_next
            @answers << [code, took] unless Broker::Errors.nothing?(code)
          end
        ensure
          Broker::Librdkafka.rd_kafka_event_destroy(event) if event && !event.null?
        end

        # With the next commit. Not metadata: another member may have the partition by then.
        def send_again = @lock.synchronize { @forced = @sent.merge(@forced) }

        # Lower offsets go first, and alone.
        def again?(code, deadline)
          return false unless code

          return @sent.any? || @metadata.any? if code.zero? || Broker::Errors.nothing?(code)
          return false unless Broker::Errors.outage?(code) && Clock.left(deadline) > RETRY_PAUSE_SECONDS

          sleep(RETRY_PAUSE_SECONDS)
          true
        end
      end
    end
  end
end
