# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"
require "support/mock_faults"

# With librdkafka's own errors: the embedded broker refuses.
class KafkaTransactionalProducerTest < GuildhallTest
  DENIED = 29
  MISSING = 3
  FENCED = 90
  TIMED_OUT = 7

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("copies", partitions: 1)
    @faults = MockFaults.new(@broker)
    @producers = []
  end

  def teardown
    @producers.each(&:close)
    @broker.stop
  end

  def made(**more)
    settings = {**more, "bootstrap.servers": @broker.bootstrap_servers, "transactional.id": "id", "topic.metadata.propagation.max.ms": 100}
    Guildhall::Kafka::Producing::TransactionalProducer.new(settings, []).tap { |producer| @producers << producer }
  end

  def opened(**) = made(**).open { false }

  def refuse(code) = @faults.refuse(MockFaults::ADD_PARTITIONS_TO_TRANSACTION, code, times: 1)

  # @return [Exception] that the block raises
  def raised
    yield
    flunk("nothing was raised")
  rescue Rdkafka::RdkafkaError, Guildhall::TimeoutError => error
    error
  end

  def test_a_transaction_that_has_failed_says_why
    producer = opened
    refuse(DENIED)
    producer.begin_transaction
    reason = producer.failure(raised { producer.produce_sync(topic: "copies", payload: "x") })
    assert_equal [:topic_authorization_failed, true, ["copies"]], [reason.code, reason.abortable?, producer.targets]
    producer.abort_transaction
    producer.begin_transaction
    assert_empty producer.targets
    producer.produce_sync(topic: "copies", payload: "x")
    producer.commit_transaction
  end

  def test_a_transaction_that_has_not_failed_goes_on
    producer = opened
    producer.begin_transaction
    assert_nil producer.failure(IOError.new)
    assert_same (error = Rdkafka::RdkafkaError.new(10)), producer.failure(error)
    producer.produce_sync(topic: "copies", payload: "x")
    producer.commit_transaction
  end

  def test_who_was_fenced_is_told_so
    former = opened
    refuse(FENCED)
    former.begin_transaction
    reason = former.failure(raised { former.produce_sync(topic: "copies", payload: "x") })
    assert reason.fatal?
    assert Guildhall::Kafka::Broker::Errors.replaced?(reason.code), reason.message
  end

  def test_what_was_not_delivered_is_named
    producer = opened
    @faults.topic_error("missing", MISSING)
    producer.begin_transaction
    producer.produce_async(topic: "missing", payload: "x")
    error = raised { producer.commit_transaction }
    reason = producer.failure(error)
    assert_equal [:inconsistent, :missing, true], [error.code, Guildhall::Kafka::Broker::Errors.kind(reason.code), reason.abortable?]
    assert_match(/topic missing/, reason.message)
  end

  # The next ones would get their numbers; the scenario transaction_answer_lost has what becomes of them.
  def test_what_may_have_arrived_and_was_dropped_is_told
    producer = opened("retry.backoff.ms": 60_000, "retry.backoff.max.ms": 60_000)
    producer.begin_transaction
    producer.produce_sync(topic: "copies", payload: "x")
    producer.abort_transaction
    refute_predicate producer, :dropped?
    @faults.refuse(MockFaults::PRODUCE, TIMED_OUT, times: 1)
    producer.begin_transaction
    producer.produce_async(topic: "copies", payload: "x")
    producer.abort_transaction
    assert_predicate producer, :dropped?
    transaction = Guildhall::Kafka::Producing::Transaction.new(producer, ->(error) { flunk(error.message) })
    @faults.refuse(MockFaults::PRODUCE, TIMED_OUT, times: 1)
    assert_raises(KeyError) do
      transaction.run do
        producer.produce_async(topic: "copies", payload: "x")
        raise KeyError, "on purpose"
      end
    end
    assert_predicate transaction, :spent?
  end

  def test_a_closed_one_says_nothing
    producer = opened
    producer.close
    assert_nil producer.failure(IOError.new)
  end

  # Readers would wait for it; and librdkafka may end the process when it is destroyed amid one (`txn_req_cnt > 0`).
  def test_what_is_open_is_aborted_when_it_is_closed
    producer = opened
    producer.begin_transaction
    producer.produce_sync(topic: "copies", payload: "x")
    assert_includes @faults.requests { producer.close }, MockFaults::END_TRANSACTION
  end

  HOW = {
    produce_sync: proc { produce_sync(topic: "copies", payload: "x") },
    produce_async: proc { produce_async(topic: "copies", payload: "x").wait },
    committed: proc { produce_async(topic: "copies", payload: "x") },
    pipe_to: proc { pipe_to("copies") }
  }.freeze

  # @param faults [Array<#call, nil>] what happens in its first transactions
  # @return [KafkaPartition]
  def faulty(how, faults)
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        transaction do
          faults.shift&.call
          instance_exec(&how)
        end
      end
    end
    KafkaPartition.new(consumer, transactional_producers: ->(_id) { made }) do
      transactional
      dead_letter_queue topic: "dead", max_retries: 0
    end
  end

  def assert_repeated(kafka, text)
    kafka.deliver(0...1).work
    assert_equal [[Guildhall::Kafka::TransactionError], []], [kafka.errors.map(&:class).uniq, kafka.dead]
    assert_match text, kafka.errors.first.message
    assert_equal 1, kafka.committed
  end

  HOW.each do |name, how|
    define_method(:"test_a_message_is_no_dead_letter_because_of_a_right_#{name}") do
      assert_repeated faulty(how, [-> { refuse(DENIED) }]), /grant WRITE and DESCRIBE on topic copies/
    end

    define_method(:"test_a_message_is_no_dead_letter_because_its_producer_was_fenced_#{name}") do
      assert_repeated faulty(how, [-> { refuse(FENCED) }]), /fenced/
    end
  end

  def test_a_message_is_no_dead_letter_because_of_a_topic_that_is_missing
    @faults.topic_error("copies", MISSING)
    assert_repeated faulty(HOW[:committed], [nil, -> { @faults.topic_error("copies", 0) }]), /create topic copies/
  end
end
