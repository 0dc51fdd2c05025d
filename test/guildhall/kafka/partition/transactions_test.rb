# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# What a consumer produces and marks in a transaction, with a producer that fails where it is told to.
class KafkaTransactionsTest < GuildhallTest
  # Produces and marks what it is given, as {HOW} says.
  class Copying < Guildhall::Kafka::Consumer
    HOW = [] # rubocop:disable Style/MutableConstant -- of a test
    def consume = instance_exec(&HOW.first)
  end

  # Notes what is asked of it.
  class Producer
    attr_reader :calls, :sent, :produced
    # A method's name, and what it raises the next time.
    attr_accessor :failing

    # @param reason [Exception, nil] why its transactions fail
    def initialize(failing = {}, reason: nil)
      @failing = failing
      @reason = reason
      @calls = []
      @sent = []
      @produced = []
    end

    def timeout = 60
    def targets = ["copies"]
    def failure(error) = @reason || (error if error.is_a?(Rdkafka::RdkafkaError))
    def open = note(:open) && self
    def begin_transaction = note(:begin)
    def commit_transaction = note(:commit)
    def abort_transaction = note(:abort)
    def dropped? = false
    def close = note(:close)

    def produce_async(message)
      error = @failing.delete(:produce)
      note(:refused) && raise(error) if error

      @produced << message[:payload]
    end

    def send_offset(topic, partition)
      note(:offset)
      yield
      @sent << [topic, partition.partition, partition.offset, partition.metadata]
    end

    private

    def note(name)
      @calls << name
      error = @failing.delete(name) and raise error
      true
    end
  end

  def kafka(*producers, client: KafkaPartition::Client.new, **settings, &how)
    Copying::HOW.replace([how])
    ids = @ids = []
    transactional_producers = lambda do |id|
      ids << id
      producers.shift || raise("one producer too many")
    end
    KafkaPartition.new(Copying, client:, transactional_producers:, **settings) { transactional }
  end

  def error(code, **) = Rdkafka::RdkafkaError.new(code, "no", **)
  def events(kafka, name) = kafka.application.events.filter_map { |event, payload| payload if event == name }

  COPY = proc do
    transaction do
      messages.each { |message| produce_async(topic: "copies", payload: message.raw_payload) }
      mark_as_consumed(messages.to_a.last, "mine")
    end
  end

  def test_what_is_marked_is_committed_with_what_was_produced_and_not_once_more
    kafka = kafka(producer = Producer.new, &COPY)
    kafka.deliver(3...6).work
    assert_equal [%i[open begin offset commit], [["t", 0, 6, "mine"]], %w[3 4 5]], [producer.calls, producer.sent, producer.produced]
    assert_equal [3, [], ["group/t/0"]], [kafka.committed, kafka.errors, @ids], "3: where it began, before the transaction"
    assert_equal({group: "group", topic: "t", partition: 0}, events(kafka, "transaction.committed").first.except(:seconds))
    kafka.deliver(6...8).work
    assert_equal [["t", 0, 8, "mine"]], producer.sent.drop(1)
  end

  def test_what_raises_is_aborted_and_consumed_again
    raised = false
    kafka = kafka(producer = Producer.new) do
      transaction do
        mark_as_consumed(messages.first)
        raise KeyError, "no" unless (raised = !raised) == false

        mark_as_consumed(messages.to_a.last)
      end
    end
    kafka.deliver(0...2).work
    assert_equal [%i[open begin abort begin offset commit], [["t", 0, 2, nil]], [KeyError]],
      [producer.calls, producer.sent, kafka.errors.map(&:class)]
    assert_equal ["KeyError"], events(kafka, "transaction.aborted").map { |payload| payload[:error_class] }
  end

  def test_a_block_that_is_left_early_is_aborted_and_counts_as_an_error
    left = false
    kafka = kafka(producer = Producer.new) do
      transaction { break if (left = !left) }
    end
    kafka.deliver(0...1).work
    assert_equal [%i[open begin abort begin commit], [Guildhall::Kafka::TransactionExitError]], [producer.calls, kafka.errors.map(&:class)]
  end

  def test_an_error_that_can_be_aborted_keeps_the_producer
    kafka = kafka(producer = Producer.new({commit: error(22, abortable: true)}), &COPY)
    kafka.deliver(0...1).work
    assert_equal [%i[open begin offset commit abort begin offset commit], [Guildhall::Kafka::TransactionError]],
      [producer.calls, kafka.errors.map(&:class)]
    assert_empty events(kafka, "consumer.retrying").map { |payload| payload[:attempt] } - [0], "an attempt was counted"
  end

  def test_what_keeps_transactions_from_being_committed_is_reported_once_for_each_reason
    producer = Producer.new
    reasons = [3, 3, 29, 3, 3, 29].map { |code| error(code, abortable: true) }
    producer.define_singleton_method(:commit_transaction) do
      reason = reasons.shift
      reason ? raise(reason) : super()
    end
    kafka = kafka(producer, &COPY)
    assert kafka.deliver(0...1).work
    assert_equal [3, 29], kafka.errors.map { |error| error.cause.rdkafka_response }
    assert_equal 6, events(kafka, "transaction.aborted").size
    reasons << error(3, abortable: true)
    assert kafka.deliver(1...2).work
    assert_equal 3, kafka.errors.size
  end

  def test_a_call_that_was_given_up_and_still_runs_is_reported_once
    first = Producer.new({offset: Guildhall::TimeoutError.new("no broker has taken the offset"), abort: error(-173)})
    kafka = kafka(first, second = Producer.new, &COPY)
    assert kafka.deliver(0...1).work
    assert_equal [%i[open begin offset abort close], %i[open begin offset commit]], [first.calls, second.calls]
    assert_equal [Guildhall::TimeoutError], kafka.errors.map(&:class)
  end

  def test_an_error_that_is_fatal_makes_a_new_producer
    first = Producer.new({begin: error(-144, fatal: true)})
    kafka = kafka(first, second = Producer.new, &COPY)
    kafka.deliver(0...1).work
    assert_equal [%i[open begin close], %i[open begin offset commit]], [first.calls, second.calls]
  end

  def test_a_commit_without_an_answer_is_looked_up
    client = KafkaPartition::Client.new
    first = Producer.new({commit: error(-185)})
    kafka = kafka(first, second = Producer.new, client:, &COPY)
    client.kept = [2, "mine"]
    kafka.deliver(0...2).work
    assert_equal [%i[open begin offset commit close], %i[open], [Guildhall::Kafka::TransactionError] * 2],
      [first.calls, second.calls, kafka.errors.map(&:class)]
    kafka.deliver(2...3).work
    assert_equal [["t", 0, 3, "mine"]], second.sent
  end

  def test_a_commit_that_was_not_done_is_done_again
    client = KafkaPartition::Client.new
    kafka = kafka(Producer.new({commit: error(-185)}), second = Producer.new, client:, &COPY)
    client.kept = [0, nil]
    kafka.deliver(0...2).work
    assert_equal [%i[open begin offset commit], %w[0 1], [["t", 0, 2, "mine"]]], [second.calls, second.produced, second.sent]
  end

  def test_a_message_that_the_broker_refuses_counts_as_an_attempt
    kafka = kafka(Producer.new({commit: error(10, abortable: true)}), &COPY)
    kafka.deliver(0...1).work
    assert_equal [:msg_size_too_large], kafka.errors.map(&:code)
    assert_equal([1], events(kafka, "consumer.retrying").map { |payload| payload[:attempt] })
  end

  PURGED = -152
  DENIED = 29
  FENCED = -144

  # @return [Array] classes and messages of the errors, attempts, dead letters
  def outcome(kafka)
    [kafka.errors.map { |error| [error.class, error.message] }, events(kafka, "consumer.retrying").map { |payload| payload[:attempt] }, kafka.dead]
  end

  def fails_once(failing, reason)
    Copying::HOW.replace([COPY])
    first = Producer.new({failing => error(PURGED)}, reason:)
    producers = [first, Producer.new]
    kafka = KafkaPartition.new(Copying, transactional_producers: ->(_id) { producers.shift || Producer.new }) do
      transactional
      dead_letter_queue topic: "dead", max_retries: 0
    end
    first.define_singleton_method(:begin_transaction) { super().tap { @reason = nil unless @failing.key?(failing) } }
    kafka.deliver(0...1).work
    [first, kafka]
  end

  def test_a_dropped_message_has_not_failed_but_its_transaction_has
    %i[produce offset].each do |call|
      first, kafka = fails_once(call, error(DENIED, abortable: true, broker_message: "no partition was added"))
      assert_equal [[[Guildhall::Kafka::TransactionError, "no - Broker: Topic authorization failed (topic_authorization_failed): no partition was added; " \
                                                          "grant WRITE and DESCRIBE on topic copies"]], [0], []], outcome(kafka)
      assert_equal 2, first.calls.count(:begin), "the producer was not kept"
    end
  end

  def test_a_fenced_producer_is_not_the_messages_fault
    first, kafka = fails_once(:produce, error(FENCED, fatal: true))
    assert_equal [[Guildhall::Kafka::TransactionError], [0], []], outcome(kafka).then { |errors, *rest| [errors.map(&:first), *rest] }
    assert_equal %i[open begin refused close], first.calls, "there is nothing to abort any more"
    assert_match(/fenced/, kafka.errors.first.message)
  end

  def test_a_dropped_message_without_a_reason_counts_as_no_attempt
    _, kafka = fails_once(:produce, nil)
    assert_equal [[Guildhall::Kafka::TransactionError, "no - Local: Purged in queue (purge_queue); its producer was closed, or its transaction aborted, " \
                                                       "before a broker had it: it is to be sent again"]], outcome(kafka).first
    assert_equal [[0], []], outcome(kafka).drop(1)
  end

  # The coordinator has not heard of it then.
  def test_that_the_coordinator_knows_no_transaction_to_abort_is_not_reported
    Copying::HOW.replace([COPY])
    first = Producer.new({produce: error(PURGED), abort: error(48, fatal: true)}, reason: error(DENIED, abortable: true))
    kafka = kafka(first, second = Producer.new, &COPY)
    kafka.deliver(0...1).work
    assert_equal [[Guildhall::Kafka::TransactionError], :close, :commit], [kafka.errors.map(&:class), first.calls.last, second.calls.last]
  end

  def test_a_right_to_the_transactional_id_comes_with_advice
    kafka = kafka(Producer.new({open: error(53, fatal: true)}), Producer.new({open: error(53, fatal: true)}), Producer.new, &COPY)
    kafka.deliver(0...1).work
    assert_equal [Guildhall::Kafka::TransactionError] * 2, kafka.errors.map(&:class)
    kafka.errors.each { |error| assert_match(%r{grant WRITE and DESCRIBE on transactional id group/t/0\z}, error.message) }
  end

  def test_an_error_of_the_applications_own_stays_what_it_is
    kafka = kafka(Producer.new(reason: error(DENIED, abortable: true))) { transaction { raise KeyError, "mine" } if attempt == 1 }
    kafka.deliver(0...1).work
    assert_equal ["mine"], kafka.errors.map(&:message)
  end

  def test_nothing_is_committed_after_the_partition_was_given_up
    kafka = nil
    kafka = kafka(producer = Producer.new, pause_timeout: 60, pause_max_timeout: 60) do
      transaction do
        mark_as_consumed(messages.first)
        kafka.partition.close
      end
    end
    kafka.deliver(0...1).work_now
    assert_equal [%i[open begin close abort], [], [Guildhall::Kafka::TransactionError]], [producer.calls, producer.sent, kafka.errors.map(&:class)]
  end

  def test_what_was_marked_before_is_committed_first_and_nothing_meanwhile
    client = KafkaPartition::Client.new
    commits = []
    client.define_singleton_method(:commit) { |**| !!(commits << stored.last) }
    kafka = nil
    kafka = kafka(producer = Producer.new, client:) do
      mark_as_consumed(messages.first)
      transaction do
        mark_as_consumed!(messages.to_a[1])
        kafka.partition.store
      end
    end
    kafka.deliver(0...4).work
    assert_equal [[[1, nil]], [["t", 0, 2, nil]], 4], [commits, producer.sent, kafka.committed]
    assert_equal [1, 4], client.stored.map(&:first)
  end

  def test_one_within_another_is_part_of_that_one
    kafka = kafka(producer = Producer.new) do
      transaction { transaction { mark_as_consumed(messages.first) } }
      redeliver_unmarked if attempt > 5
    end
    kafka.deliver(0...1).work
    assert_equal %i[open begin offset commit], producer.calls
  end

  def test_a_route_that_is_not_transactional
    Copying::HOW.replace([COPY])
    kafka = KafkaPartition.new(Copying, pause_timeout: 60, pause_max_timeout: 60)
    kafka.deliver(0...1).work_now
    assert_equal ["topic t has no transactions: add `transactional` to its route"], kafka.errors.map(&:message)
  end
end
