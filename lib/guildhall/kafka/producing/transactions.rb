# frozen_string_literal: true

require "guildhall/signal_trap"
require_relative "transaction"

module Guildhall
  module Kafka
    module Producing
      # The transactions of an application's producer ({Producer#transaction}), one after the other. Any thread.
      # @api private
      class Transactions
        UNDECIDED = "no broker has said whether the transaction was committed: all of its messages are there, or none is. Read the topic " \
                    "before you produce them again"
        CLOSED = "the producer was closed while a transaction was open: nothing of it is committed"
        private_constant :UNDECIDED, :CLOSED

        # @param report [#call] as of {Transaction}
        # @yieldreturn [TransactionalProducer] a new one, which is not open
        def initialize(report, &make)
          @report = report
          @make = make
          @lock = Mutex.new
          @owner = nil
          @closed = false
        end

        # @return [TransactionalProducer, nil] nil: this thread has no transaction open
        def of_this_thread = (@producer if @owner.equal?(Thread.current) && @pid == Process.pid)

        # (see Producer#transaction)
        def run
          SignalTrap.refuse!
          open = of_this_thread
          return yield(open) if open

          @lock = Mutex.new if @lock.owned? # in a child that was forked amid a transaction
          @lock.synchronize do
            transaction = Transaction.new(producer, @report)
            @owner = Thread.current
            transaction.run { yield @producer }
          rescue Rdkafka::BaseError, ClosedProducerError, Guildhall::TimeoutError => error
            raise undecided(error) if transaction&.undecided?
            raise TransactionError, CLOSED if transaction && (error.is_a?(Rdkafka::ClosedInnerError) || error.is_a?(ClosedProducerError))

            raise Transaction.explained(error, transaction)
          ensure
            @owner = nil
            discard if transaction&.spent?
          end
        end

        # Aborts an open transaction; the thread that it belongs to gets an error. Blocks while librdkafka ends.
        # @return [void]
        def close
          @closed = true
          @producer&.close if @pid == Process.pid
        end

        private

        # With the lock held; after a fork, or where the last one has failed, another one.
        def producer
          discard unless @pid == Process.pid
          @producer ||= connect unless @closed
          return @producer unless @closed

          discard
          raise ClosedProducerError, "this producer is closed"
        end

        def connect
          @pid = Process.pid
          made = @make.call
          made.open { @closed }
        rescue StandardError
          made&.close
          raise
        end

        def discard
          spent = @producer
          @producer = nil
          spent.close if spent && @pid == Process.pid
        end

        def undecided(error) = TransactionError.new("#{UNDECIDED} (#{error.message})")
      end
    end
  end
end
