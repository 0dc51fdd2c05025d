# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaReportTopicTest < GuildhallTest
  ReportTopic = Guildhall::Kafka::Reporting::ReportTopic

  def setup
    @logger = Rdkafka::Config.logger
    Rdkafka::Config.logger = Logger.new(nil)
  end

  def teardown
    Rdkafka::Config.logger = @logger
  end

  def config(servers, **settings)
    Guildhall::Kafka::Config.new.tap do |config|
      config.kafka = {"bootstrap.servers": servers}
      settings.each { |name, value| config.public_send(:"#{name}=", value) }
    end
  end

  def record(kind, text = "") = {"kind" => kind, "process" => "h:1:a", "text" => text}

  # @param refusals [Integer] how often the brokers refuse to create it
  def refusing(refusals)
    answers = Array.new(refusals, 29)
    [].tap do |asked|
      Guildhall::Kafka::Broker::AdminClient.prepend(Module.new do
        define_method(:create_topic) do |name, *arguments|
          asked << [name, *arguments]
          (code = answers.shift) ? raise(Rdkafka::RdkafkaError, code) : super(name, *arguments)
        end
      end)
    end
  end

  def test_settings_are_those_of_the_producers_connection_and_its_own
    settings = ReportTopic.settings(config("b:1", producer: {"sasl.username": "writer", acks: "all", "linger.ms": 500, "transactional.id": "x", "compression.codec": "zstd"}, client_id: "shop"))
    assert_equal({"client.id": "shop", "bootstrap.servers": "b:1", "sasl.username": "writer", "request.required.acks": 1, "enable.idempotence": false,
                  "message.timeout.ms": 10_000, "queue.buffering.max.kbytes": 1_024}, settings)
    assert_includes ReportTopic.settings(config("b:1", oauth_token: -> {})), Guildhall::Kafka::Tokens::SETTING
  end

  def test_a_topic_of_one_partition_has_all_kinds
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("reports.in.one", partitions: 1)
      topic = ReportTopic.new("reports.in.one", config(broker.bootstrap_servers)) { |problem| flunk(problem) }
      assert_predicate topic, :ready?
      %w[state minute event].each { |kind| topic.write(record(kind)) }
      topic.close(10)
      assert_equal 3, broker.watermarks("reports.in.one", 0).last
      assert_nil topic.write(record("state")), "closed"
    end
  end

  def test_a_full_queue_drops_what_comes
    topic = ReportTopic.new("reports", config("127.0.0.1:1")) { |problem| flunk(problem) }
    topic.instance_variable_set(:@partitions, 3)
    noise = Random.new(1)
    2_000.times { topic.write(record("event", noise.bytes(1_000).unpack1("H*"))) }
    producer = topic.instance_variable_get(:@producer)
    assert_operator producer.queue_size, :<, 1_900
    began = Guildhall::Clock.now
    topic.close(0.5)
    assert_operator Guildhall::Clock.now - began, :<, 5
  end

  def test_brokers_that_do_not_answer_are_asked_again_and_nothing_is_said
    topic = ReportTopic.new("reports", config("127.0.0.1:1")) { |problem| flunk(problem) }
    refute_predicate topic, :ready?
    refute_predicate topic, :ready?, "not yet"
    assert_nil topic.write(record("state"))
    topic.close(0)
  end

  def test_what_may_not_be_created_is_said_once_with_the_command
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      said = []
      topic = ReportTopic.new("reports", config(broker.bootstrap_servers)) { |problem| said << problem }
      asked = refusing(2)
      refute_predicate topic, :ready?
      topic.instance_variable_set(:@due, 0)
      refute_predicate topic, :ready?
      assert_equal 1, said.size
      assert_match(/\Athis process does not report \(config.reports\): TOPIC_AUTHORIZATION_FAILED: .*grant CREATE on topic reports, or on the cluster. Or create it: guildhall topics create reports --partitions 3 --config cleanup.policy=delete /, said[0])
      topic.instance_variable_set(:@due, 0)
      assert_predicate topic, :ready?
      settings = {"cleanup.policy" => "delete", "retention.ms" => "86400000", "retention.bytes" => "268435456", "segment.ms" => "3600000",
                  "segment.bytes" => "16777216", "message.timestamp.type" => "LogAppendTime"}
      assert_equal [["reports", 3, settings, -1]], asked.uniq
      topic.close(1)
    end
  end

  # What librdkafka tells of a message.
  def test_a_right_that_is_missing_is_said_once_and_a_topic_that_is_gone_is_made_again
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      said = []
      topic = ReportTopic.new("reports", config(broker.bootstrap_servers)) { |problem| said << problem }
      assert_predicate topic, :ready?
      2.times { topic.send(:hear, [:undelivered, 29, "reports", 0]) }
      topic.send(:hear, [:undelivered, -192, "reports", 0]) # it was too late
      topic.send(:hear, [:error, -195, "all brokers are down"])
      assert_equal 1, said.size
      assert_includes said[0], "grant WRITE and DESCRIBE on topic reports"
      assert_predicate topic, :ready?
      topic.send(:hear, [:undelivered, 3, "reports", 0])
      assert_nil topic.instance_variable_get(:@partitions)
      assert_predicate topic, :ready?
      topic.close(1)
    end
  end
end
