# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaProducingSettingsTest < GuildhallTest
  # What the Java client's Utils.murmur2 makes of keys, from its own tests.
  MURMUR2 = {"21" => -973_932_308, "foobar" => -790_332_482, "a-little-bit-long-string" => -985_981_536,
             "a-little-bit-longer-string" => -1_486_304_829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8" => -58_897_971,
             "abc" => 479_470_107}.freeze
  PARTITIONS = 7

  def settings(made = :of, **own)
    config = Guildhall::Kafka::Config.new
    config.kafka = {"bootstrap.servers": "localhost:1"}
    config.producer = own
    Guildhall::Kafka::Producing::Settings.public_send(made, config)
  end

  def test_safe_unless_the_application_says_otherwise
    assert_equal [true, "lz4", "murmur2_random", "all"], settings.values_at(:"enable.idempotence", :"compression.codec", :partitioner, :"request.required.acks")
    assert_equal %w[zstd random], settings("compression.codec": "zstd", partitioner: "random").values_at(:"compression.codec", :partitioner)
    [{acks: 1}, {"request.required.acks": "0"}, {"max.in.flight": 6}, {retries: 0}, {"queuing.strategy": "lifo"}].each do |own|
      refute settings(**own).key?(:"enable.idempotence"), own
      assert_librdkafka_takes(settings(**own))
    end
    [{acks: -1}, {"max.in.flight": 5}, {retries: 3}].each do |own|
      assert settings(**own)[:"enable.idempotence"], own
      assert_librdkafka_takes(settings(**own))
    end
  end

  # A relay of the outbox would lose messages, or send them out of order.
  def test_a_relay_waits_for_as_long_as_it_takes_whatever_the_application_says
    [{}, {acks: 0, "max.in.flight": 100, retries: 0, "enable.idempotence": false, "delivery.timeout.ms": 5_000},
     {"request.required.acks": "1", "message.timeout.ms": 10_000, "queuing.strategy": "lifo", "transactional.id": "t"}].each do |own|
      settings = settings(:patient, "linger.ms": 7, **own)
      assert_equal [0, "all", true, true, 7],
        settings.values_at(:"message.timeout.ms", :"request.required.acks", :"enable.idempotence", :"enable.gapless.guarantee", :"linger.ms")
      assert_librdkafka_takes(settings)
    end
  end

  def assert_librdkafka_takes(settings)
    errors = Guildhall::Kafka::Config::Problems.new
    Guildhall::Kafka::Config::LibrdkafkaSettings.validate_together(settings, :rd_kafka_producer, errors, "producer")
    assert_empty errors.to_a
  end

  def test_the_same_key_goes_where_the_java_client_sends_it
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("t", partitions: PARTITIONS)
      producer = Guildhall::Kafka::Producer.new(settings.merge("bootstrap.servers": broker.bootstrap_servers))
      %i[key partition_key].each do |name|
        found = MURMUR2.keys.to_h { |key| [key, producer.produce_sync(topic: "t", payload: "x", name => key).partition] }
        assert_equal(MURMUR2.transform_values { |hash| (hash & 0x7fffffff) % PARTITIONS }, found, name)
      end
    ensure
      producer&.close
    end
  end
end
