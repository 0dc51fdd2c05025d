# frozen_string_literal: true

require "guildhall/clock"
require_relative "delivery"
require_relative "../errors"

module Guildhall
  module Kafka
    module Producing
      # One transaction of a {TransactionalProducer}: begun, filled by a block, and committed, or aborted.
      # @api private
      class Transaction
        # What a call of the producer's raises, or one that waits for it.
        OF_PRODUCER = [Rdkafka::BaseError, ClosedProducerError, Guildhall::TimeoutError].freeze
        EXIT = "a transaction was left by return, break or throw, and was aborted: let its block end, or raise"
        private_constant :OF_PRODUCER, :EXIT

        # @param transaction [Transaction, nil] that has raised it; nil: it was not begun
        # @param tried [Hash{Symbol=>String}] as for {Broker::Errors.advice}
        # @return [Exception] a TransactionError for what says nothing about a message
        def self.explained(error, transaction = nil, **tried)
          return error unless error.is_a?(Rdkafka::RdkafkaError) && passing?(error)

          targets = transaction&.targets.to_a
          advice = Broker::Errors.advice(error.code, produce: (targets.join(", ") if targets.any?), **tried)
          # librdkafka's further lines repeat the first one there.
          lines = error.message.lines(chomp: true)
          text = error.code == :transactional_id_authorization_failed ? lines.first : lines.join(": ")
          TransactionError.new([text, *advice, *transaction&.time_advice].join("; "))
        end

        def self.passing?(error)
          error.fatal? || error.retryable? || Broker::Errors.replaced?(error.code) || Delivery.passing?(error) ||
            Broker::Errors.unusable?(error.code)
        end
        private_class_method :passing?

        # @return [Boolean] whether the producer cannot have another transaction
        def spent? = @spent

        # @return [Boolean] whether the commit has ended without an answer: all of it may be there, or nothing
        def undecided? = @undecided

        # @return [Float] seconds since it was begun
        def seconds = Clock.now - @began

        # @return [Array<String>] the topics that it has produced to
        def targets = @producer.targets

        # @return [String, nil] nil: it took no longer than it may
        def time_advice
          return unless seconds > @producer.timeout

          "it was open for #{seconds.round(1)} s, and transaction.timeout.ms allows #{@producer.timeout} s: raise that in " \
            "config.producer, or do less in a transaction"
        end

        # @param report [#call] given what goes wrong when it is aborted: the block's own error is raised
        # @yieldparam reason [Exception, nil] why it was aborted; nil: its block was left
        def initialize(producer, report, &on_abort)
          @producer = producer
          @report = report
          @on_abort = on_abort
          @spent = @undecided = false
        end

        # Blocks for the brokers' answers.
        # @return [Object] what the block returns
        # @raise what the block raises; of the producer's errors the reason why the transaction has failed
        # @raise [TransactionExitError]
        def run
          @began = Clock.now
          state = :open
          @producer.begin_transaction
          value = yield
          state = :committing
          @producer.commit_transaction
          state = :committed
          value
        rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is, the transaction is aborted
          state = :open if state == :committing && error.is_a?(Rdkafka::RdkafkaError) && error.abortable? # it was not committed
          error = reason(error) if state == :open
          raise error
        ensure
          case state
          when :open
            roll_back(error)
            raise TransactionExitError, EXIT unless error || Thread.current.status == "aborting" # killed: an error would keep it alive
          when :committing
            @spent = @undecided = true
          end
        end

        private

        # An error of the producer's is fatal, or does not let it go on: the next transaction has a new one.
        def roll_back(reason)
          return @spent = true if reason.is_a?(Rdkafka::RdkafkaError) && reason.fatal?

          @producer.abort_transaction
          @spent = @producer.dropped?
        rescue Rdkafka::BaseError, ClosedProducerError => error
          @report.call(error) unless expected?(error, reason)
          @spent = true
        ensure
          @on_abort&.call(reason)
        end

        # What a call raises after a transaction has failed says only that it has.
        def reason(error) = (@producer.failure(error) if OF_PRODUCER.any? { |klass| klass === error }) || error

        # The coordinator does not know a transaction that it has refused from the beginning; a call that was given up may still be in
        # progress. The reason is raised.
        def expected?(error, reason)
          code = error.is_a?(Rdkafka::RdkafkaError) && error.code
          code == :conflict || (code == :invalid_txn_state && reason.is_a?(Rdkafka::RdkafkaError) && reason.abortable?)
        end
      end
    end
  end
end
