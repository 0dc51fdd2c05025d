# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/json"
require "guildhall/kafka/plain_record"

class KafkaDecodingTest < GuildhallTest
  # Takes any call for a dispatch, and notes how.
  class FakePool
    attr_reader :asked

    def dispatch(payloads, _task, parallel:, **)
      (@asked ||= []) << [payloads.size, parallel]
      nil
    end
  end

  # Counts what it decodes.
  class Counting
    attr_reader :calls

    def call(bytes)
      @calls = @calls.to_i + 1
      bytes.upcase
    end
  end

  # Ends the thread that decodes "p1" or "p3".
  class Deadly
    def call(bytes)
      %w[p1 p3].include?(bytes) ? Thread.exit : bytes
    end
  end

  FIRST = Ractor.make_shareable(:first.to_proc)

  def setup
    @application = Guildhall::Kafka::Application.new
    @config = @application.config
    @config.kafka = {"bootstrap.servers": "localhost:1"}
    @pool = FakePool.new
  end

  def test_the_reader_decodes_where_it_can
    assert_same Guildhall::JSON.lazy, decoding { deserializer Guildhall::JSON.lazy }.codec
    assert_nil decoding { deserializer FIRST }.codec
    assert_instance_of Guildhall::Kafka::Decoding::Raw, decoding
  end

  def test_on_access_nothing_is_decoded_before_it_is_asked_for
    counting = Counting.new
    way = decoding { deserializer(counting) && deserializing(lazy: :on_access) }
    results = way.begin(records(3), nil)
    assert_nil counting.calls
    assert_equal "P1", results[1]
    assert_equal "P1", results[1]
    assert_equal 1, counting.calls
    assert_nil decoding { deserializer(Guildhall::JSON.lazy) && deserializing(lazy: :on_access) }.codec
    assert_nil @pool.asked
  end

  def test_a_payload_that_ends_its_readers_thread_ends_no_other
    deadly = Deadly.new.freeze
    with_pool do |pool|
      [Guildhall::Kafka::Decoding::OnAccess.new(deadly), Guildhall::Kafka::Decoding::OnPool.new(deadly, pool, false, nil)].each do |way|
        results = way.begin(Ractor.make_shareable(records(5)), nil)
        outcomes = nil
        lives = (1..10).find { (outcomes = Thread.new { Array.new(5) { |index| results[index] } }.value) || results.again && nil }
        assert_operator lives, :<=, 4
        assert_equal %w[p0 p2 p4], outcomes.grep(String)
        assert_equal [Guildhall::WorkerDiedError.name] * 2, outcomes.values_at(1, 3).map(&:error_class)
      end
    end
  end

  def test_small_batches_are_not_sent_to_workers
    @config.deserializing.parallel.min_payloads = 3
    way = decoding { deserializer(FIRST) && deserializing(parallel: true) }
    way.begin(records(2), nil)
    way.begin(records(3), nil)
    assert_equal [[2, false], [3, true]], @pool.asked
  end

  def test_nothing_is_sent_to_workers_where_that_is_not_active
    @config.deserializing.parallel.active = false
    assert_instance_of Guildhall::Kafka::Decoding::OnAccess, decoding { deserializer FIRST }
    @config.deserializing.parallel.active = true
    assert_instance_of Guildhall::Kafka::Decoding::OnPool, decoding { deserializer FIRST }
    assert_instance_of Guildhall::Kafka::Decoding::OnAccess, decoding { deserializer(FIRST) && deserializing(parallel: false) }
  end

  def test_settings_that_contradict_each_other
    faults = Guildhall::Kafka::Faults.new
    @application.routes.draw { topic("t") { deserializing parallel: true, lazy: :on_access } }
    @application.routes.draw { topic("u") { deserializing lazy: :never } }
    @application.routes.topics(faults)
    assert_includes faults.to_a, %(topic "t": deserializing lazy: :on_access cannot be parallel: true)
    assert_includes faults.to_a, %(topic "u": lazy has to be one of :on_access, nil, not :never)
  end

  private

  def with_pool
    pool = Guildhall::Pool.new(workers: 1)
    yield(pool)
  ensure
    pool.shutdown(timeout: 5)
  end

  def decoding(&settings)
    builder = Guildhall::Kafka::Routing::TopicBuilder.new("t", "g", Guildhall::Kafka::Faults.new)
    builder.instance_eval(&settings) if settings
    Guildhall::Kafka::Decoding.for(builder.build, @config) { @pool }
  end

  def records(count)
    Array.new(count) do |offset|
      Guildhall::Kafka::PlainRecord.new(topic: "t", partition: 0, offset:, timestamp_ms: nil, key: nil, raw_payload: "p#{offset}", headers: {})
    end
  end
end
