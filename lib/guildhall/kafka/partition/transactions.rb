# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../group/client"
require_relative "../errors"
require_relative "../producing/delivery"

module Guildhall
  module Kafka
    class Partition
      # The transactions of one partition: what is produced in one, and the offset that is marked in it, are committed together or not at
      # all.
      #
      # Two fences keep apart who has the partition and who had it. Its producer's transactional id is the partition's: the
      # next owner's ends what this one has left open, at once. And the offset is sent as a member of the group: the
      # coordinator refuses that of an earlier generation.
      class Transactions
        # What was marked in the one that is open, and the producer for what belongs to it.
        Marks = Struct.new(:producer, :progress, :next_offset, :generation, :metadata) do
          # @return [Boolean] as {Progress#mark}
          def add(next_offset, generation, metadata)
            return false unless progress.offset_if_done_to(next_offset, generation)

            self.generation = generation
            return true if self.next_offset && next_offset < self.next_offset

            self.next_offset = next_offset
            self.metadata = metadata
            true
          end

          def empty? = next_offset.nil?

          # @return [Array(Integer, String), nil] offset and metadata to be committed; nil: the partition is no longer ours, or a
          #   seek has made the marks void
          def offset_to_commit = progress.offset_if_done_to(next_offset, generation, metadata)

          def committed = progress.committed_to(next_offset, generation, metadata)
        end

        # What a call of the producer's raises, or one that waits for it.
        OF_PRODUCER = [Rdkafka::BaseError, ClosedProducerError, Guildhall::TimeoutError].freeze
        EXIT = "a transaction was left by return, break or throw, and was aborted: let its block end, or raise"
        private_constant :OF_PRODUCER, :EXIT

        # The same whenever it is raised for the same reason.
        def self.reason(error) = error.cause.is_a?(Rdkafka::RdkafkaError) ? error.cause.code : error.message

        def initialize(partition, client)
          @partition = partition
          @progress = partition.progress
          @client = client
          @runtime = partition.runtime
          @reports = partition.reports
          @lock = Mutex.new
          @producer = @unsettled = nil
          @closed = false
        end

        # Makes the producer, in a thread of its own: until it is there, what an earlier owner has left open keeps the group's
        # offset from being read. Does not block.
        def open = @runtime.in_background { ErrorBoundary.run(->(error) { report(explained(error)) unless @closed }) { producer } }

        # As {Consumer#transaction}. Blocks for the brokers' answers.
        def run(&)
          producer = self.producer
          settle_last
          raise not_ours unless @progress.suspend_storing

          began = Clock.now
          perform(producer, &).tap { @reports.publish("transaction.committed", seconds: Clock.now - began) }
        rescue Rdkafka::BaseError => error
          raise explained(error, producer, began)
        ensure
          @progress.resume_storing
        end

        # What is open is not committed any more. Does not block.
        def close
          @closed = true
          @runtime.in_background { @lock.synchronize { @producer&.close } }
        end

        private

        def id = "#{@partition.topic.group}/#{@partition}"
        def not_ours = TransactionError.new("#{@partition} is no longer assigned to this process")

        def producer
          @lock.synchronize do
            raise not_ours if @closed
            next @producer if @producer

            made = @runtime.transactional_producer(id)
            @producer = made.open { @closed }
          rescue StandardError
            made&.close
            raise
          end
        end

        # Where a commit ends without an answer, the transaction may have been committed all the same: the next producer waits until that
        # is decided, and the broker is asked.
        def perform(producer)
          marks = Marks.new(producer, @progress)
          state = :open
          producer.begin_transaction
          value = yield(marks)
          send_offset(producer, marks) unless marks.empty?
          state = :committing
          producer.commit_transaction
          state = :committed
          marks.committed unless marks.empty?
          value
        rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is, the transaction is aborted
          state = :open if state == :committing && error.is_a?(Rdkafka::RdkafkaError) && error.abortable? # it was not committed
          error = reason(producer, error) if state == :open
          raise error
        ensure
          case state
          when :open
            roll_back(producer, error)
            raise TransactionExitError, EXIT unless error
          when :committing
            @unsettled = marks unless marks.empty?
            discard(producer)
          end
        end

        # Ask for the group's metadata before looking whether the marks still hold: if they hold afterwards, the metadata is of a time when
        # the partition was ours.
        def send_offset(producer, marks)
          offset, text = marks.offset_to_commit
          raise void_error unless offset

          producer.send_offset(@partition.name, Rdkafka::Consumer::Partition.new(@partition.number, offset, 0, text)) do
            metadata = @client.group_metadata
            next metadata if marks.offset_to_commit

            metadata.destroy
            raise void_error
          end
        end

        def void_error
          TransactionError.new("#{@partition} was revoked, or a seek has moved it, while a transaction was open: it was aborted")
        end

        # An error of the producer's is fatal, or does not let it go on: the next transaction has a new one.
        def roll_back(producer, reason)
          fatal = reason.is_a?(Rdkafka::RdkafkaError) && reason.fatal?
          fatal ? discard(producer) : producer.abort_transaction
        rescue Rdkafka::BaseError => error
          report(error) unless @closed || expected?(error, reason)
          discard(producer)
        ensure
          @reports.publish("transaction.aborted", error_class: reason&.class&.name)
        end

        # What a call raises after a transaction has failed says only that it has.
        def reason(producer, error) = (producer.failure(error) if OF_PRODUCER.any? { |klass| klass === error }) || error

        # The coordinator does not know a transaction that it has refused from the beginning; a call that was given up may still be in
        # progress. The reason is raised.
        def expected?(error, reason)
          code = error.is_a?(Rdkafka::RdkafkaError) && error.code
          code == :conflict || (code == :invalid_txn_state && reason.is_a?(Rdkafka::RdkafkaError) && reason.abortable?)
        end

        # @raise [TransactionError] where the last transaction was committed: its messages are done, and must not be consumed again
        def settle_last
          marks = @unsettled or return
          offset, = @client.committed(@partition.name, @partition.number)
          @unsettled = nil
          return unless offset && offset >= marks.next_offset && marks.committed

          raise TransactionError, "the transaction before was committed after all: the messages up to offset #{offset} are done"
        end

        def discard(producer)
          @lock.synchronize { @producer = nil if @producer.equal?(producer) }
          @runtime.in_background { producer.close }
        end

        # @return [Exception] a TransactionError for what says nothing about a message
        def explained(error, producer = nil, began = nil)
          return error unless error.is_a?(Rdkafka::BaseError)
          unless error.is_a?(Rdkafka::RdkafkaError)
            return TransactionError.new("#{@partition} was given up while a transaction was open: #{error.message}")
          end
          return error unless passing?(error)

          targets = producer.targets.join(", ") if producer&.targets&.any?
          advice = Broker::Errors.advice(error.code, transact: id, join: @partition.topic.group, produce: targets)
          # librdkafka's further lines repeat the first one here.
          lines = error.message.lines(chomp: true)
          text = error.code == :transactional_id_authorization_failed ? lines.first : lines.join(": ")
          TransactionError.new([text, *advice, *time_advice(producer, began)].join("; "))
        end

        def passing?(error)
          error.fatal? || error.retryable? || Broker::Errors.replaced?(error.code) || Producing::Delivery.passing?(error) ||
            Broker::Errors.unusable?(error.code)
        end

        def time_advice(producer, began)
          seconds = began && (Clock.now - began)
          return unless seconds && seconds > producer.timeout

          "it was open for #{seconds.round(1)} s, and transaction.timeout.ms allows #{producer.timeout} s: raise that in " \
            "config.producer, or do less in a transaction"
        end

        def report(error) = @reports.error(error, "transaction")
      end
    end
  end
end
