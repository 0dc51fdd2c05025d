# frozen_string_literal: true

require "test_helper"
require "support/mock_faults"
require "guildhall/json"
require "guildhall/kafka"

# Outside of consumers, on the embedded broker.
class KafkaProducingTransactionsTest < GuildhallTest
  Kafka = Guildhall::Kafka
  FENCED = 90
  MISSING = 3

  def setup
    @broker = Kafka::Testing::EmbeddedBroker.start
    %w[a b].each { |name| @broker.create_topic(name, partitions: 1) }
    @faults = MockFaults.new(@broker)
    @application = application("transactional.id": "shop")
  end

  def teardown
    @application.stop(timeout: 10)
    @broker.stop
  end

  def application(**settings)
    Kafka::Application.new.tap do |application|
      application.config.logger = nil
      application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
      application.config.producer = {"transaction.timeout.ms": 5_000, **settings}
      application.routes.draw { topic("a") { serializer Guildhall::JSON } }
    end
  end

  def producer = @application.producer
  def read(topic) = @application.each_message(topic).map(&:raw_payload)

  def test_all_of_it_or_nothing
    answer = producer.transaction do |transaction|
      transaction.produce_async(topic: "a", payload: {"id" => 1})
      producer.produce_sync(topic: "b", payload: "2") # of the same thread
      Thread.new { transaction.produce_many_async([{topic: "b", payload: "3"}]) }.join
      transaction.buffer(topic: "b", payload: "4")
      :done
    end
    assert_equal :done, answer
    assert_equal [['{"id":1}'], %w[2 3 4]], [read("a"), read("b")]
    assert_raises(KeyError) do
      producer.transaction do |transaction|
        transaction.produce_sync(topic: "a", payload: "gone")
        transaction.buffer(topic: "a", payload: "gone")
        raise KeyError, "no"
      end
    end
    producer.transaction { |transaction| transaction.produce_async(topic: "b", payload: "5") }
    assert_equal %w[2 3 4 5], read("b").last(4)
  end

  def test_what_other_threads_produce_is_in_no_transaction
    inner = nil
    producer.transaction do |transaction|
      inner = transaction
      refute_same producer, transaction
      Thread.new { producer.produce_sync(topic: "b", payload: "outside") }.join(20) or flunk("it waits")
      assert_equal [], transaction.targets
      producer.transaction { |same| assert_same transaction, same }
      producer.produce_async(topic: "a", payload: "x")
      assert_equal ["a"], transaction.targets
    end
    producer.produce_sync(topic: "b", payload: "after")
    assert_equal ["a"], inner.targets
    assert_equal %w[outside after], read("b")
  end

  def test_one_after_the_other
    open = 0
    counts = Array.new(4) do |number|
      Thread.new do
        Array.new(5) do
          producer.transaction do |one|
            open += 1
            one.produce_async(topic: "a", payload: number.to_s)
            Thread.pass
            open.tap { open -= 1 }
          end
        end
      end
    end
    assert_equal [[1] * 5] * 4, counts.map(&:value)
    assert_equal({"0" => 5, "1" => 5, "2" => 5, "3" => 5}, read("a").tally)
  end

  def test_a_block_that_is_left
    assert_raises(Kafka::TransactionExitError) { producer.transaction { |one| one.produce_async(topic: "a", payload: "x") && break } }
    producer.transaction { |one| one.produce_async(topic: "b", payload: "1") }
    assert_equal ["1"], read("b")
  end

  def test_messages_of_an_open_one_are_not_purged
    error = assert_raises(Guildhall::ArgumentError) do
      producer.transaction do |one|
        one.produce_async(topic: "a", payload: "x")
        one.purge
      end
    end
    assert_match(/raise an error in its block/, error.message)
    assert_raises(Guildhall::ArgumentError) { producer.transaction { producer.purge } }
    producer.transaction { |one| one.produce_async(topic: "a", payload: "y") }
    assert_equal "y", read("a").last
  end

  def test_without_an_id
    plain = Kafka::Producer.new({"bootstrap.servers": @broker.bootstrap_servers})
    assert_match(/needs a transactional.id: config.producer =/, assert_raises(Guildhall::ArgumentError) { plain.transaction { flunk } }.message)
    assert plain.close
  end

  def test_who_was_fenced_gets_a_new_producer_the_next_time
    @faults.refuse(MockFaults::ADD_PARTITIONS_TO_TRANSACTION, FENCED, times: 1)
    error = assert_raises(Kafka::TransactionError) { producer.transaction { |one| one.produce_sync(topic: "a", payload: "1") } }
    assert_match(/fenced/, error.message)
    producer.transaction { |one| one.produce_sync(topic: "a", payload: "2") }
    assert_equal "2", read("a").last
  end

  def test_a_topic_that_is_missing
    @faults.topic_error("missing", MISSING)
    @application.config.producer.merge!("topic.metadata.propagation.max.ms": 100)
    error = assert_raises(Kafka::TransactionError) { producer.transaction { |one| one.produce_async(topic: "missing", payload: "1") } }
    assert_match(/create topic missing/, error.message)
  end

  def test_what_was_not_delivered_in_time_is_aborted_for_sure
    @faults.leader("a", 0, -1)
    @application.config.producer.merge!("transaction.timeout.ms": 1_500)
    error = assert_raises(Kafka::TransactionError) { producer.transaction { |one| one.produce_async(topic: "a", payload: "1") } }
    assert_match(/not delivered/, error.message)
    @faults.leader("a", 0, 1)
    producer.transaction { |one| one.produce_async(topic: "b", payload: "2") }
    assert_equal ["2"], read("b")
  end

  def test_no_broker
    nobody = application("transactional.id": "shop", "transaction.timeout.ms": 1_000, "message.timeout.ms": 900)
    nobody.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    error = assert_raises(Kafka::TransactionError) { nobody.producer.transaction { flunk } }
    assert_match(/check that a broker listens/, error.message)
  ensure
    nobody.stop(timeout: 2)
  end

  def test_a_stop_amid_a_transaction
    begun = Thread::Queue.new
    stopped = Thread::Queue.new
    thread = Thread.new do
      producer.transaction do |one|
        one.produce_async(topic: "a", payload: "1")
        begun << true
        stopped.pop
        one.produce_async(topic: "a", payload: "2")
      end
    rescue StandardError => error
      error
    end
    begun.pop
    @application.stop(timeout: 5)
    stopped << true
    assert_kind_of Kafka::TransactionError, thread.value
    assert_match(/closed while a transaction was open: nothing of it is committed/, thread.value.message)
  end

  def test_a_stop_while_the_first_transaction_waits_for_brokers
    nobody = application("transactional.id": "shop", "transaction.timeout.ms": 60_000)
    nobody.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    thread = Thread.new { nobody.producer.transaction { flunk } }
    thread.report_on_exception = false
    eventually { nobody.producer.instance_variable_get(:@transactions).instance_variable_get(:@pid) }
    assert nobody.stop(timeout: 60)
    assert_raises(Kafka::ClosedProducerError) { thread.join(20) || flunk("it waits") }
  end

  def test_a_stop_after_one_that_has_failed
    @faults.refuse(MockFaults::ADD_PARTITIONS_TO_TRANSACTION, FENCED, times: 1)
    assert_raises(Kafka::TransactionError) { producer.transaction { |one| one.produce_sync(topic: "a", payload: "1") } }
    producer.produce_async(topic: "b", payload: "2")
    assert @application.stop(timeout: 60)
    assert_equal ["2"], read("b")
  end

  def test_a_producer_that_was_closed_has_none
    former = producer
    former.transaction { |one| one.produce_async(topic: "a", payload: "1") }
    waiting = nil
    former.transaction do
      waiting = Thread.new { former.transaction { flunk } }
      waiting.report_on_exception = false
      eventually { waiting.stop? }
      @application.stop(timeout: 5)
    end
    flunk("it was committed")
  rescue Kafka::TransactionError
    assert_raises(Kafka::ClosedProducerError) { former.transaction { flunk } }
    assert_raises(Kafka::ClosedProducerError) { waiting.join(20) || flunk("it waits") }
  end

  def test_a_thread_that_is_killed_ends
    begun = Thread::Queue.new
    thread = Thread.new { producer.transaction { |one| one.produce_sync(topic: "a", payload: "1") && (begun << true) && sleep } }
    begun.pop
    assert_same thread, thread.kill.join(20)
    producer.transaction { |one| one.produce_async(topic: "b", payload: "2") }
    assert_equal ["2"], read("b")
  end

  def test_a_child_that_was_forked_amid_one
    skip unless Process.respond_to?(:fork) && RUBY_VERSION >= "4"
    producer.transaction do |one|
      one.produce_sync(topic: "a", payload: "parent")
      pid = fork do
        @application.config.producer.merge!("transactional.id": "child")
        producer.transaction { |own| own.produce_sync(topic: "b", payload: "child") }
        exit!(@application.stop(timeout: 5))
      end
      assert_predicate Process.wait2(pid).last, :success?
    end
    assert_equal [["parent"], ["child"]], [read("a"), read("b")]
  end

  def test_a_child_has_transactions_of_its_own
    skip unless Process.respond_to?(:fork) && RUBY_VERSION >= "4"
    producer.transaction { |one| one.produce_sync(topic: "a", payload: "parent") }
    pid = fork do
      producer.transaction { |one| one.produce_sync(topic: "a", payload: "child") }
      exit!(@application.stop(timeout: 5))
    end
    assert_predicate Process.wait2(pid).last, :success?
    assert_equal %w[parent child], read("a")
  end
end
