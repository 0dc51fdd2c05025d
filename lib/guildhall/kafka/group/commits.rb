# frozen_string_literal: true

require "guildhall/clock"
require_relative "../broker/librdkafka"

module Guildhall
  module Kafka
    module Group
      # The commits of one client, one at a time. While there is no coordinator librdkafka postpones commits, and sends all of them in an
      # order of its own once there is one again: if an old one arrived last, the committed offset would go back. Used by any thread.
      # {Client} has the public methods, too.
      class Commits
        TIMEOUT_SECONDS = 60
        SLICE_MS = 100 # so that a thread that waits can be interrupted
        RETRY_PAUSE_SECONDS = 0.2
        private_constant :TIMEOUT_SECONDS, :SLICE_MS, :RETRY_PAUSE_SECONDS

        def initialize(client)
          @client = client
          @queue = client.with_handle { |handle| Broker::Librdkafka.rd_kafka_queue_new(handle) }
          @permit = Thread::Queue.new << true # the thread that has it may commit
          @since = nil
          @answers = Thread::Queue.new
          @lock = Mutex.new
          @forced = {}
          @sent = {}
          @metadata = {}
          @sent_kind = :stored # of the last commit; else :forced or :metadata
        end

        # Commits what was stored. Blocks for the broker's answer (librdkafka itself would wait for ever), and tries again where the reason
        # to fail may pass.
        # @return [Boolean] false when the group has moved on meanwhile
        def commit(timeout: TIMEOUT_SECONDS)
          code = complete(timeout)
          failure(code)&.then { |error| raise error }
          code.zero? || Broker::Errors.nothing?(code)
        end

        # Commits this offset, whatever was stored or committed before. Blocks for the broker's answer.
        def commit_at(topic, partition, offset, metadata = nil, timeout:)
          force_offset(topic, partition, offset, metadata)
          code = complete(timeout)
          raise Rdkafka::RdkafkaError, code unless code.zero? || Broker::Errors.nothing?(code)
        end

        # Commits what was stored, in the background. While a commit is under way nothing happens: the next call will do.
        # @return [Rdkafka::RdkafkaError, nil] what has become of the commit before, if it was no good
        def commit_soon = failure(with_permit(0) { |handle| answer(0).tap { |answered| dispatch(handle) if answered } } || 0)

        # Commits this offset, which may be lower than what was committed before. Does not block.
        def commit_to(topic, partition, offset, metadata = nil)
          force_offset(topic, partition, offset, metadata)
          commit_soon
        end

        # Looks for the broker's answer to a commit in the background; otherwise as {#commit_soon}.
        def look_for_answer = failure(with_permit(0) { answer(0) } || 0)
        def committing? = !@since.nil?

        # A commit has been under way for longer.
        def commit_overdue?(seconds)
          since = @since
          !since.nil? && Clock.now - since > seconds
        end

        # Of each commit that was answered, once, librdkafka's name of its error or nil, and how many seconds it took.
        def answered_commits = Array.new(@answers.size) { @answers.pop }.map { |code, seconds| [failure(code)&.code&.to_s, seconds] }

        # With the next commit, or the one after, also where the offset itself, which was stored, is committed already: librdkafka would
        # skip it. Does not block.
        def renew_metadata(topic, partition, offset, metadata)
          @lock.synchronize { @metadata[[topic, partition]] = [offset, metadata] }
        end

        # Another offset was stored: with it, its own metadata is committed.
        def forget_metadata(topic, partition) = @lock.synchronize { @metadata.delete([topic, partition]) }

        # Another member may have the partition from now on: nothing is committed for it any more. An answer to a commit that is under way
        # changes nothing.
        def drop(topic, partition)
          @lock.synchronize { [@forced, @metadata, @sent].each { |offsets| offsets.delete([topic, partition]) } }
        end

        # Before the client is closed; nothing is committed from now on.
        def close
          had = @permit.pop(timeout: RETRY_PAUSE_SECONDS)
          @permit.close
          Broker::Librdkafka.rd_kafka_queue_destroy(@queue) if had
        end

        private

        def complete(timeout)
          deadline = Clock.now + timeout
          with_permit(timeout) do |handle|
            code = await(deadline)
            while code
              code = dispatch(handle)
              code = await(deadline) if code.zero?
              break unless again?(code, deadline)
            end
            @lock.synchronize { @metadata = {} }
            code
          end || Broker::Librdkafka::TIMED_OUT
        end

        def failure(code)
          Rdkafka::RdkafkaError.new(code) unless code.zero? || Broker::Errors.commit_settled?(code)
        end

        # librdkafka commits stored offsets only if they lie beyond the committed one.
        def force_offset(topic, partition, offset, metadata)
          @lock.synchronize { @forced[[topic, partition]] = [offset, metadata] }
        end

        # @return [Object, nil] what the block returns; nil: it was not its permit in time
        def with_permit(timeout, &)
          permit = @permit.pop(timeout:) or return
          @client.with_handle(&)
        ensure
          release(permit) if permit
        end

        def release(permit)
          @permit << permit
        rescue ::ClosedQueueError # Ruby's: the queue is one of threads
          nil # there are no more turns
        end

        def dispatch(handle)
          topics = @lock.synchronize { by_topic(@sent = next_offsets) }
          code = Broker::Librdkafka.with_list(topics) { |list| Broker::Librdkafka.rd_kafka_commit_queue(handle, list, @queue, nil, nil) }
          @since = Clock.now if code.zero?
          send_again unless code.zero? || @sent_kind != :forced # nothing was sent
          code
        end

        # Metadata goes only after stored offsets: if it changed all the time, it would hold them up.
        # @return [Hash] empty: stored offsets are next
        def next_offsets
          if @forced.any?
            @sent_kind = :forced
            @forced.tap { @forced = {} }
          elsif @sent_kind == :stored && @metadata.any?
            @sent_kind = :metadata
            @metadata.tap { @metadata = {} }
          else
            @sent_kind = :stored
            {}
          end
        end

        def by_topic(offsets)
          offsets.group_by { |(topic, _), _| topic }.transform_values do |some|
            some.map { |(_, partition), (offset, metadata)| Rdkafka::Consumer::Partition.new(partition, offset, 0, metadata) }
          end
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
            send_again if Broker::Errors.outage?(code) && @sent_kind == :forced
            @answers << [code, took] unless Broker::Errors.nothing?(code)
          end
        ensure
          Broker::Librdkafka.rd_kafka_event_destroy(event) if event && !event.null?
        end

        # With the next commit, forced offsets. Metadata is not sent again: another member may have the partition by then.
        def send_again = @lock.synchronize { @forced = @sent.merge(@forced) }

        # Lower offsets go first, and alone.
        def again?(code, deadline)
          return false unless code

          return @sent_kind != :stored || @metadata.any? if code.zero? || Broker::Errors.nothing?(code)
          return false unless Broker::Errors.outage?(code) && Clock.left(deadline) > RETRY_PAUSE_SECONDS

          sleep(RETRY_PAUSE_SECONDS)
          true
        end
      end
    end
  end
end
