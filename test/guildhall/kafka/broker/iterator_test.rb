# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "support/mock_faults"

class KafkaIteratorTest < GuildhallTest
  class Numbers
    def call(bytes) = Integer(bytes)
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 3)
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.logger = nil
    @application.config.max_messages = 40
    produce(300)
  end

  def teardown
    @application.stop(timeout: 5) if @application.running?
    @application.send(:instance_variable_get, :@own_pool)&.shutdown(timeout: 5)
    @broker.stop
  end

  def produce(count)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    Array.new(count) { |i| producer.produce(topic: "t", partition: i % 3, payload: (i / 3).to_s) }.each { |handle| handle.wait(max_wait_timeout_ms: 30_000) }
  ensure
    producer.close
  end

  # @return [Hash{Integer=>Array<Integer>}] offsets by partition, in the order in which they came
  def offsets(**arguments)
    @application.each_message("t", **arguments).group_by(&:partition).transform_values { |messages| messages.map(&:offset) }.sort.to_h
  end

  def test_everything_that_is_there_in_order
    assert_equal [0, 1, 2].to_h { |partition| [partition, [*0...100]] }, offsets
  end

  def test_from_and_until
    assert_equal({0 => [*90...100]}, offsets(from: -10, partitions: 0))
    assert_equal({0 => [*0...100]}, offsets(from: -1_000, partitions: [0]))
    assert_equal({1 => [*95...100], 2 => [*95...100]}, offsets(from: 95, partitions: [1, 2]))
    assert_equal({1 => [*10...15]}, offsets(from: 10, until: 15, partitions: 1))
    assert_equal({}, offsets(from: :latest))
    assert_equal({}, offsets(from: 10, until: 10))
    assert_equal({0 => [10, 11], 1 => [*5...15]}, offsets(from: {0 => 10, 1 => 5}, until: {0 => 12, 1 => 15}))
    assert_equal({}, offsets(from: 1_000))
  end

  def test_it_can_be_left_and_is_lazy
    assert_equal [0, 1, 2], @application.each_message("t", partitions: 1).lazy.map(&:offset).first(3)
    seen = []
    @application.each_message("t", until: nil, partitions: 2) do |message|
      seen << message.offset
      break if seen.size == 50
    end
    assert_equal [*0...50], seen
    error = assert_raises(RuntimeError) { @application.each_message("t") { raise "mine" } }
    assert_equal "mine", error.message
  end

  def test_without_an_end_it_waits_for_what_comes
    numbers = Thread::Queue.new
    reading = Thread.new { @application.each_message("t", from: -1, until: nil, partitions: 0) { |message| numbers << message.offset } }
    assert_equal 99, numbers.pop(timeout: 60)
    produce(3)
    assert_equal 100, numbers.pop(timeout: 60)
  ensure
    reading.kill.join
  end

  def test_payloads_are_decoded_as_the_route_says_or_as_asked
    assert_equal 300.times.sum { |i| i / 3 }, @application.each_message("t", deserializer: Guildhall::JSON).sum(&:payload)
    assert_equal 300.times.sum { |i| i / 3 }, @application.each_message("t", deserializer: Ractor.make_shareable(Numbers.new)).sum(&:payload)
    assert_equal "0", @application.each_message("t").first.payload
    @application.routes.draw { topic("t") { serializer(Guildhall::JSON) && deserializer(Guildhall::JSON) } }
    assert_equal 0, @application.each_message("t").first.payload
  end

  def test_what_a_pipeline_selects
    odd = Guildhall::JSON.lazy >> Guildhall.select(&:odd?)
    assert_equal [1, 3, 5], @application.each_message("t", deserializer: odd, partitions: 0, until: 6).map(&:payload)
  end

  def test_what_means_nothing_is_refused
    {from: :begin, until: -1, partitions: [0, 7]}.each do |name, value|
      assert_includes assert_raises(Guildhall::ArgumentError) { @application.each_message("t", name => value) { flunk } }.message, name == :partitions ? "not 7" : "#{name} must be"
    end
    assert_match(/there is no topic tt/, assert_raises(Guildhall::ArgumentError) { @application.each_message("tt") { flunk } }.message)
  end

  def test_a_broker_that_does_not_answer
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    reading = Thread.new { @application.each_message("t") { flunk } }
    reading.report_on_exception = false
    refute reading.join(0.5)
    reading.kill
    assert reading.join(60), "the wait can be interrupted"
  end

  # Gives up after half a second of silence where brokers have more.
  # @param gone [Boolean] whether no broker answers any more once it is known from where to where to read
  def iterate(from, til, gone:, &)
    broker = @broker
    range = Guildhall::Kafka::Broker::OffsetRange.new(from, til)
    range.define_singleton_method(:resolve) { |*arguments| super(*arguments).tap { broker.suspend } } if gone
    settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g", log_level: 0}
    @application.routes.draw { topic("t") { serializer(Guildhall::JSON) } }
    route = @application.routes.topics.first
    Guildhall::Kafka::Broker::Iterator.new(route, settings, @application.config, [0], range, silence: 0.5).each(&)
  end

  def test_brokers_that_are_gone_before_the_end
    error = assert_raises(Guildhall::Kafka::KafkaError) { iterate(:earliest, :end, gone: true) { flunk } }
    assert_match(%r{no record of t/0 from offset 0 on has come}, error.message)
  end

  def test_without_an_end_it_waits_for_brokers_as_well
    numbers = Thread::Queue.new
    reading = Thread.new { iterate(:earliest, nil, gone: true) { |message| numbers << message.offset } }
    reading.report_on_exception = false
    refute reading.join(2), "longer than the limit"
    @broker.resume
    assert_equal 0, numbers.pop(timeout: 60)
  ensure
    reading.kill.join
  end

  # It is not brokers that it waits for.
  def test_an_offset_that_is_still_to_be_written_is_waited_for
    numbers = Thread::Queue.new
    reading = Thread.new { iterate(99, 101, gone: false) { |message| numbers << message.offset } }
    assert_equal 99, numbers.pop(timeout: 60)
    refute reading.join(3), "longer than the limit"
    produce(3)
    assert_equal 100, numbers.pop(timeout: 60)
    assert reading.join(60)
  ensure
    reading.kill.join
  end

  def test_other_topics_may_have_any_error_and_a_partition_without_a_leader_is_an_error_where_it_is_read
    @broker.create_topic("unrelated")
    faults = MockFaults.new(@broker)
    faults.topic_error("unrelated", 29)
    assert_equal [0, 1, 2], offsets(until: 1).keys
    faults.leader("t", 1, -1)
    assert_equal({0 => [0], 2 => [0]}, offsets(until: 1, partitions: [0, 2]))
    assert_match(%r{t/1 has no leader}, assert_raises(Guildhall::Kafka::KafkaError) { offsets(until: 1) }.message)
  end
end
