# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "../group/client"
require_relative "../errors"
require_relative "../producing/transaction"

module Guildhall
  module Kafka
    class Partition
      # The transactions of one partition: what is produced in one, and the offset that is marked in it, are committed together or not at
      # all.
      #
      # Two fences keep apart who has the partition and who had it. Its producer's transactional id is the partition's: the
      # next owner's ends what this one has left open, at once. And the offset is sent as a member of the group: the
      # coordinator refuses that of an earlier generation.
      # @api private
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

        # The same whenever it is raised for the same reason.
        def self.reason(error) = error.cause.is_a?(Rdkafka::RdkafkaError) ? error.cause.code : error.message

        def initialize(partition, client)
          @partition = partition
          @progress = partition.progress
          @client = client
          @runtime = partition.runtime
          @reports = partition.reports
          @lock = Mutex.new
          @producer = @unsettled = @open_since = nil
          @closed = false
          @committed = @aborted = 0
        end

        # Makes the producer, in a thread of its own: until it is there, what an earlier owner has left open keeps the group's
        # offset from being read. Does not block.
        def open = @runtime.in_background { ErrorBoundary.run(->(error) { report(explained(error)) unless @closed }) { producer } }

        # As {Consumer#transaction}. Blocks for the brokers' answers.
        def run(&)
          producer = self.producer
          settle_last
          raise not_ours unless @progress.suspend_storing

          transaction = transaction_of(producer)
          @open_since = Clock.now
          perform(producer, transaction, &).tap do
            @committed += 1
            @reports.publish("transaction.committed", seconds: transaction.seconds)
          end
        rescue Rdkafka::BaseError => error
          raise explained(error, transaction)
        ensure
          @open_since = nil
          @progress.resume_storing
        end

        # @return [Array(Float | nil, Integer, Integer)] since when one is open, of the {Clock}; how many were committed, and aborted
        def view = [@open_since, @committed, @aborted]

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

        def transaction_of(producer)
          Producing::Transaction.new(producer, ->(error) { report(error) unless @closed }) do |reason|
            @aborted += 1
            @reports.publish("transaction.aborted", error_class: reason&.class&.name)
          end
        end

        # Where a commit ends without an answer, the transaction may have been committed all the same: the next producer waits until that
        # is decided, and the broker is asked.
        def perform(producer, transaction)
          marks = Marks.new(producer, @progress)
          value = transaction.run do
            yield(marks).tap { send_offset(producer, marks) unless marks.empty? }
          end
          marks.committed unless marks.empty?
          value
        ensure
          @unsettled = marks if transaction.undecided? && !marks.empty?
          discard(producer) if transaction.spent?
        end

        # Ask for the group's metadata before looking whether the marks still hold: if they hold afterwards, the metadata is of a time when
        # the partition was ours.
        def send_offset(producer, marks)
          offset, text = marks.offset_to_commit
          raise void_error unless offset

          producer.send_offset(@partition.name, Rdkafka::Consumer::Partition.new(@partition.number, offset, 0, text)) do
            metadata = @client.group_metadata or raise void_error
            next metadata if marks.offset_to_commit

            metadata.destroy
            raise void_error
          end
        end

        def void_error
          TransactionError.new("#{@partition} was revoked, or a seek has moved it, while a transaction was open: it was aborted")
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
        def explained(error, transaction = nil)
          if error.is_a?(Rdkafka::RdkafkaError) || !error.is_a?(Rdkafka::BaseError)
            return Producing::Transaction.explained(error, transaction, transact: id, join: @partition.topic.group)
          end

          TransactionError.new("#{@partition} was given up while a transaction was open: #{error.message}")
        end

        def report(error) = @reports.error(error, "transaction")
      end
    end
  end
end
