# frozen_string_literal: true

require_relative "../broker/native_client"
require_relative "../delaying"
require_relative "delivery"

module Guildhall
  module Kafka
    module Producing
      # Produces in transactions, one after the other. Of several producers with one transactional id the broker serves only the one that
      # was opened last. Takes messages as waterdrop's producer does. Any thread may produce while a transaction is open; one thread at a
      # time begins and ends transactions.
      class TransactionalProducer
        include Delaying::DelayedProducing

        DEFAULT_TIMEOUT_MS = 60_000 # librdkafka's
        SLICE_MS = 500 # so that a thread that waits can be interrupted
        OFFSETS_MS = 5_000
        FLUSH_MS = 1_000
        RETRY_PAUSE_SECONDS = 0.1
        # librdkafka has one timer in a process for the retries of sending offsets: of two producers one would wait for ever.
        SENDING = Mutex.new
        # Extends the client: notes where the messages of a transaction go, because librdkafka's errors do not say it.
        module Targets
          def targets = @targets ||= {}

          def produce(topic:, **)
            targets[topic] = true
            super
          end
        end
        private_constant :Targets, :SENDING, :OFFSETS_MS, :DEFAULT_TIMEOUT_MS, :SLICE_MS, :FLUSH_MS, :RETRY_PAUSE_SECONDS

        # @return [Rdkafka::Producer, nil] nil until it is opened; and seconds that a transaction may be open: the broker aborts it then
        attr_reader :client, :timeout

        def initialize(settings, steps)
          @settings = settings
          @steps = steps
          @timeout = Integer(settings.fetch(:"transaction.timeout.ms", DEFAULT_TIMEOUT_MS)) / 1000.0
          @deadline = 0
          @refused = nil
        end

        # Connects, and ends the transaction that an earlier producer of this id has left open. Blocks until the brokers have done that.
        # @yieldreturn [Boolean] whether to give up, because the producer will not be used
        def open
          @client = Rdkafka::Config.new(@settings).producer.extend(Targets)
          @client.delivery_callback = ->(report) { @refused ||= report unless report.error.zero? || Broker::Errors.purged?(report.error) }
          @native = Broker::NativeClient.of(@client)
          @deadline = Clock.now + @timeout
          patiently { initialize_transactions unless yield }
          self
        end

        def begin_transaction
          @client.begin_transaction
          @client.targets.clear
          @refused = nil
          @deadline = Clock.now + @timeout
        end

        # Once a transaction has failed, librdkafka drops its messages, and later calls fail for that reason. librdkafka says why it has
        # failed when it is asked to begin another one; if messages were not delivered, the report of the first says more.
        # @return [Rdkafka::RdkafkaError, nil] why it cannot be committed; nil: not because of the brokers, as far as is known
        def failure(error)
          reason = open_failure || error
          return unless reason.is_a?(Rdkafka::RdkafkaError)
          return reason unless reason.code == :inconsistent && (refused = @refused)

          text = "A message to topic #{refused.topic_name} was not delivered"
          Rdkafka::RdkafkaError.new(refused.error, broker_message: text, abortable: true)
        end

        # The topics that messages of the transaction that is open, or was the last, were sent to.
        def targets = @client ? @client.targets.keys : []

        # Adds a consumer's offset to the transaction. Blocks for the brokers' answers.
        # @yieldreturn [Group::Client::GroupMetadata] who consumes it; called again for each try
        def send_offset(topic, partition)
          list = Rdkafka::Consumer::TopicPartitionList.new(topic => [partition])
          patiently { SENDING.synchronize { in_time { @client.send_offsets_to_transaction(yield, list, OFFSETS_MS) } } }
        end

        # Blocks for the brokers' answers. Where an error is raised that cannot be aborted, it is not known whether it was committed.
        def commit_transaction = patiently { @client.commit_transaction(SLICE_MS) }

        # Blocks for the brokers' answers. Sends what was produced first: the coordinator refuses to abort a transaction of which it
        # has not heard yet (librdkafka's issue 4849).
        def abort_transaction
          @client.flush(FLUSH_MS)
          patiently { @client.abort_transaction(SLICE_MS) }
        end

        # Drops what is not delivered. Blocks while librdkafka ends.
        def close
          return unless @client

          @client.purge
        rescue Rdkafka::BaseError
          nil # after a fatal error, or closed already
        ensure
          @client&.close
        end

        # As waterdrop's, with `max_wait_timeout` alone (milliseconds) and {#run} alone.
        def config = self
        def middleware = self
        def max_wait_timeout = (@timeout * 1000).ceil

        # @!visibility private
        def run(message) = @steps.reduce(Wire.thaw(message)) { |made, step| step.call(made) }
        def partition_count(topic) = @client.partition_count(topic.to_s)
        def produce_async(message) = enqueue(run(message))
        def produce_sync(message) = deliver(enqueue(run(message)))

        def produce_many_async(messages, run_middleware: true)
          messages = messages.map { |message| run(message) } if run_middleware
          messages.map { |message| enqueue(message) }
        end

        def produce_many_sync(...) = produce_many_async(...).each { |handle| deliver(handle) }

        private

        def open_failure
          @client.begin_transaction
          nil
        rescue Rdkafka::RdkafkaError => error
          error if error.abortable? || error.fatal?
        rescue Rdkafka::BaseError
          nil # it is closed
        end

        # The gem's own waits without an end.
        def initialize_transactions
          @native.with_inner do |handle|
            Rdkafka::RdkafkaError.validate!(Rdkafka::Bindings.rd_kafka_init_transactions(handle, SLICE_MS), client_ptr: handle)
          end
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

        def deliver(handle) = Delivery.wait(handle, max_wait_timeout)

        def enqueue(message)
          message = message.merge(topic: message[:topic].to_s, headers: Wire.headers(message[:headers]))
          begin
            @client.produce(**message)
          rescue Rdkafka::RdkafkaError => error
            raise Delivery.reason(error) unless error.code == :queue_full && Clock.now < @deadline

            sleep(RETRY_PAUSE_SECONDS)
            retry
          end
        end
      end
    end
  end
end
