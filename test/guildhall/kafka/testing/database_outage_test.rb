# frozen_string_literal: true

require "test_helper"
require "json"

# Consumers that write to a database, with Active Record's own classes: in a process of its own, for Active Record brings Active Support's
# JSON with it.
class DatabaseOutageTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "active_record"
    require "json"
    require "guildhall/kafka"
    require "guildhall/kafka/testing"

    # Fails as often as the test says, with the error that it says.
    class Rows < Guildhall::Kafka::Consumer
      FAILING = []
      DONE = []

      def consume
        error = FAILING.shift
        raise error if error

        DONE.concat(messages.raw_payloads)
      end
    end

    APPLICATION = Guildhall::Kafka::Application.new
    APPLICATION.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    APPLICATION.routes.draw do
      topic("rows") do
        consumer Rows
        dead_letter_queue topic: "dead", max_retries: 0
        retries contention_limit: 3
      end
    end

    # As Active Record wraps what an adapter raises.
    def statement_invalid(cause)
      raise ActiveRecord::StatementInvalid, "wrapped", cause:
    rescue ActiveRecord::StatementInvalid => error
      error
    end

    # What is dead-lettered, how far the partition is, and what was done.
    def outcome(errors, *deliveries)
      Rows::FAILING.replace(errors)
      Rows::DONE.clear
      topic = Guildhall::Kafka::Testing.topic("rows", application: APPLICATION)
      deliveries.each { |payloads| topic.deliver(*payloads) }
      [topic.dead_letters.map { |letter| letter[:payload] }, topic.done, Rows::DONE.dup]
    end

    outages = [ActiveRecord::ConnectionNotEstablished, ActiveRecord::ConnectionFailed, ActiveRecord::DatabaseConnectionError,
               ActiveRecord::ConnectionTimeoutError, *(ActiveRecord::ExclusiveConnectionTimeoutError if ActiveRecord.const_defined?(:ExclusiveConnectionTimeoutError))]
    contention = [ActiveRecord::StatementTimeout, ActiveRecord::QueryCanceled, ActiveRecord::Deadlocked, ActiveRecord::LockWaitTimeout,
                  ActiveRecord::AdapterTimeout]
    $stdout.puts(JSON.generate(
      outages: outages.map { |klass| klass.new("down") }.push(statement_invalid(Errno::ECONNRESET.new)).map { |error| outcome([error] * 20, %w[a b]) },
      contention: contention.map { |klass| [outcome([klass.new("busy")] * 2, %w[a b]), outcome([klass.new("busy")] * 3, %w[poison], %w[good])] },
      other: outcome([statement_invalid(NoMethodError.new("nil"))], %w[a])
    ))
  RUBY

  def test_what_becomes_of_messages_whose_database_fails
    found = JSON.parse(assert_ruby(PROGRAM))
    assert_equal [[[], 2, %w[a b]]], found["outages"].uniq, "nothing is dead-lettered while a database is out of reach"
    assert_equal [[[[], 2, %w[a b]], [["poison"], 2, %w[good]]]], found["contention"].uniq, "unless a message alone has them, it is not its fault"
    assert_equal ["a"], found["other"].first, "another error is the message's"
  end
end
