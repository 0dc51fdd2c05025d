# frozen_string_literal: true

require "guildhall/clock"
require_relative "../producer"

module Guildhall
  module Kafka
    module Producing
      # Produces in transactions, one after the other. Of several producers with one transactional id the broker serves only the one that
      # was opened last. Any thread may produce while a transaction is open; one thread at a time begins and ends transactions.
      class TransactionalProducer < Producer
        # Seconds that a transaction may be open; librdkafka's default.
        DEFAULT_TIMEOUT_SECONDS = 60
        SLICE_MS = 500 # so that a thread that waits can be interrupted
        OFFSETS_MS = 5_000
        FLUSH_SECONDS = 1
        RETRY_PAUSE_SECONDS = 0.1
        # librdkafka has one timer in a process for the retries of sending offsets: of two producers one would wait for ever.
        SENDING = Mutex.new
        private_constant :SENDING, :OFFSETS_MS, :DEFAULT_TIMEOUT_SECONDS, :SLICE_MS, :FLUSH_SECONDS, :RETRY_PAUSE_SECONDS

        # @return [Float] seconds that a transaction may be open: the broker aborts it then
        attr_reader :timeout

        # @param settings [Hash{Symbol=>Object}] librdkafka's, with a transactional id
        # @param steps [Array<#call>] as of {Producer}
        def initialize(settings, steps, **)
          super(settings, steps:, **)
          timeout_ms = settings[:"transaction.timeout.ms"]
          @timeout = timeout_ms ? Integer(timeout_ms) / 1000.0 : DEFAULT_TIMEOUT_SECONDS
          @deadline = 0
          @sent = []
          @targets = []
        end

        # Connects, and ends the transaction that an earlier producer of this id has left open. Blocks until the brokers have done that.
        # @yieldreturn [Boolean] whether to give up, because the producer will not be used
        # @raise [Rdkafka::RdkafkaError] also when no broker has answered for as long as a transaction may be open
        def open
          super
          @deadline = Clock.now + @timeout
          patiently { call { |handle| Rdkafka::Bindings.rd_kafka_init_transactions(handle, SLICE_MS) } unless yield }
          self
        end

        # @raise [Rdkafka::RdkafkaError]
        def begin_transaction
          call { |handle| Rdkafka::Bindings.rd_kafka_begin_transaction(handle) }
          @sent = []
          @targets = []
          @deadline = Clock.now + @timeout
        end

        # Once a transaction has failed, librdkafka drops its messages, and later calls fail for that reason. librdkafka says why it has
        # failed when it is asked to begin another one; if messages were not delivered, the report of the first says more.
        # @param error [Exception] with which a call has failed while a transaction is open
        # @return [Rdkafka::RdkafkaError, nil] why it cannot be committed; nil: not because of the brokers, as far as is known
        def failure(error)
          reason = open_failure || error
          return unless reason.is_a?(Rdkafka::RdkafkaError)
          return reason unless reason.code == :inconsistent && (refused = refusal)

          text = "A message to topic #{refused.topic} was not delivered"
          Rdkafka::RdkafkaError.new(refused.rdkafka_response, broker_message: text, abortable: true)
        end

        # @return [Array<String>] the topics that messages of the transaction that is open, or was the last, were sent to
        attr_reader :targets

        # Adds a consumer's offset to the transaction. Blocks for the brokers' answers.
        # @param partition [Rdkafka::Consumer::Partition] with the offset of the next message to be consumed
        # @yieldreturn [Group::Client::GroupMetadata] who consumes it; called again for each try
        # @raise [Rdkafka::RdkafkaError, Guildhall::TimeoutError]
        def send_offset(topic, partition)
          list = Rdkafka::Consumer::TopicPartitionList.new(topic => [partition])
          patiently { SENDING.synchronize { in_time { send_offsets(list, yield) } } }
        end

        # Sends what is kept first, which belongs to it. Blocks for the brokers' answers.
        # @raise [Rdkafka::RdkafkaError] unless that can be aborted, it is not known whether it was committed
        def commit_transaction
          flush_async
          raise undelivered unless client.flush(@deadline) # librdkafka's commit would wait as well, and then not say what has failed

          patiently { call { |handle| Rdkafka::Bindings.rd_kafka_commit_transaction(handle, SLICE_MS) } }
        end

        # Blocks for the brokers' answers. Sends what was produced first: the coordinator refuses to abort a transaction of which it
        # has not heard yet (librdkafka's issue 4849).
        # @raise [Rdkafka::RdkafkaError]
        def abort_transaction
          @lock.synchronize { kept.clear }
          client.flush(Clock.now + FLUSH_SECONDS)
          patiently { call { |handle| Rdkafka::Bindings.rd_kafka_abort_transaction(handle, SLICE_MS) } }
        end

        # After a transaction was aborted. librdkafka gives the next messages the numbers of those that it has dropped. If a broker has
        # those after all, it confirms the next ones without keeping them, because it has their numbers: they are lost. A new producer
        # with this transactional id gets a new epoch, in which the numbers begin again.
        # @return [Boolean] whether librdkafka has dropped messages that were on their way
        def dropped? = @sent.any? { |delivery| delivery.pending? || ((error = delivery.error) && Broker::Errors.purged?(error.code)) }

        def wait_seconds = @timeout

        # A transaction without some of its messages cannot be committed.
        # @raise [Guildhall::ArgumentError]
        def purge
          raise Guildhall::ArgumentError, "purge would leave a transaction without some of its messages: raise an error in its block, " \
                                          "which aborts it and drops all of them"
        end

        # Drops what is not delivered, and what is kept. Blocks while librdkafka ends.
        def close(deadline = Clock.now)
          @lock.synchronize { kept.clear }
          super
        end

        private

        # Whatever was on its way is part of a transaction that has failed: a producer that goes on behind the scenes would hide that.
        def client = opened || raise(ClosedProducerError, "this producer is closed")
        def renew(_client) = raise(Rdkafka::RdkafkaError.new(Broker::Librdkafka::FATAL, fatal: true))

        def full_limit = @deadline

        # Who aborts knows.
        def expected?((kind, code)) = kind == :undelivered && Broker::Errors.purged?(code)

        def handles(...) = super.tap { |deliveries| @sent += deliveries }

        def hand_over(messages, ...)
          @targets |= messages.map { |message| message[:topic].to_s }
          super
        end

        def undelivered
          text = "The messages of the transaction were not delivered within transaction.timeout.ms"
          Rdkafka::RdkafkaError.new(Broker::Librdkafka::TIMED_OUT, broker_message: text, abortable: true)
        end

        # @return [ProduceError, nil] of the first message that was refused
        def refusal = @sent.lazy.filter_map(&:error).find { |error| !Broker::Errors.purged?(error.code) }

        def open_failure
          call { |handle| Rdkafka::Bindings.rd_kafka_begin_transaction(handle) }
          nil
        rescue Rdkafka::RdkafkaError => error
          error if error.abortable? || error.fatal?
        rescue Rdkafka::BaseError, ClosedProducerError
          nil # it is closed
        end

        def call
          client.with_handle { |handle| Rdkafka::RdkafkaError.validate!(yield(handle), client_ptr: handle) }
        end

        def send_offsets(list, metadata)
          native = list.to_native_tpl
          group = metadata.consumer_group_metadata_pointer
          call { |handle| Rdkafka::Bindings.rd_kafka_send_offsets_to_transaction(handle, native, group, OFFSETS_MS) }
        ensure
          Rdkafka::Bindings.rd_kafka_consumer_group_metadata_destroy(group) if group && !group.null?
          Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(native) if native
        end

        # Repeats a call, which librdkafka then resumes. Without a limit it waits for brokers longer than a transaction may be open.
        def patiently
          yield
        rescue Rdkafka::RdkafkaError => error
          raise unless error.retryable? && Clock.now < @deadline

          sleep(RETRY_PAUSE_SECONDS) unless error.code == :timed_out
          retry
        end

        # In a thread: librdkafka may wait longer than its timeout, or for ever (its issues 5456 and 5511).
        # @raise [Guildhall::TimeoutError] the producer cannot be used any more then
        def in_time(&)
          thread = Thread.new(&)
          thread.report_on_exception = false
          return thread.value if thread.join(Clock.left(@deadline, least: SLICE_MS / 1000.0))

          raise TimeoutError, "no broker has taken the offset of a transaction within transaction.timeout.ms"
        end
      end
    end
  end
end
