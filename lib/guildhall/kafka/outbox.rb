# frozen_string_literal: true

require "guildhall/soft_dependency"
Guildhall::SoftDependency.require!("active_record", gem: "activerecord", purpose: "Guildhall::Outbox")
require_relative "../kafka"
require_relative "outbox/record"
require_relative "outbox/message"
require_relative "outbox/shard"

module Guildhall
  module Kafka
    # The transactional outbox of Active Record: messages are rows of a table, written in the application's own transaction, so that either
    # both are there or neither. A {Relay} in each server process sends the rows and deletes them: at least once, those of one key in
    # the order in which they became visible.
    #
    #     class Order < ApplicationRecord
    #       include Guildhall::Outbox
    #       after_create { produce_in_transaction(topic: "orders", key: id.to_s, payload: attributes) }
    #     end
    #
    # Any thread of the main Ractor. `Guildhall::Outbox` is its short name. Needs Active Record 7.2 or later.
    module Outbox
      autoload :Relay, File.expand_path("outbox/relay", __dir__)

      # A message that has to be part of a transaction was produced outside of one.
      class NoTransactionError < ::RuntimeError
        include Error
      end

      # The migration has not run, or only that of an earlier version.
      class MissingTablesError < ::RuntimeError
        include Error

        # @param what [String] is missing
        # @param generator [String] that makes its migration, without "guildhall:"
        def initialize(what, generator)
          super("#{what}: run bin/rails db:migrate; where db/migrate has no migration for it, run bin/rails generate " \
                "guildhall:#{generator} before that")
        end
      end

      # The warning to an application that writes messages and sends none.
      # @api private
      NOT_SENT = "config.outbox is not set: messages are written to the outbox, and no guildhall server with these settings sends them; " \
                 "write config.outbox = true into config/guildhall.rb"

      class << self
        # Writes messages to the outbox: in the transaction at hand, or, where there is none, in one of their own. Does not wait for a
        # broker. `config.producer_middleware` and the serializers of the routes see each message now.
        # @param messages [Hash, Array<Hash>] as {Producer#produce_async} takes them
        # @raise [Guildhall::ArgumentError] when one is none
        # @raise [Guildhall::EncodeError] and whatever the steps raise: nothing was written
        # @raise [MissingTablesError] where the migration has not run
        # @raise [::ActiveRecord::ActiveRecordError] when the database refuses them
        def produce(messages)
          made = Kafka.producer.made(messages.is_a?(Hash) ? [messages] : messages)
          Message.write(made) if made.any?
        end

        # As {.produce}, in the transaction at hand.
        # @raise [NoTransactionError] where none is open in the outbox's database
        def produce_in_transaction(messages)
          unless Message.current_transaction.open?
            raise NoTransactionError, "no transaction is open in the outbox's database, so that the message would be there without the " \
                                      "change that it tells of, or the change without it: wrap both in `transaction do … end`, or call " \
                                      "Guildhall::Outbox.produce"
          end

          produce(messages)
        end

        # Asks the database.
        # @return [Boolean] whether it has the table of Active Job's batches, which an application without them need not have
        # @api private
        def batches? = Kafka.const_defined?(:ActiveJob, false) && ActiveJob::Batch.fault.nil?
      end

      private

      # For models, jobs, consumers and other classes that include the module: see {Outbox.produce_in_transaction}.
      def produce_in_transaction(messages) = Outbox.produce_in_transaction(messages)
    end
  end

  Outbox = Kafka::Outbox
end
