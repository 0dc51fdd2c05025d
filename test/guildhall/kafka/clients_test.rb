# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaClientsTest < GuildhallTest
  Topic = Struct.new(:kafka)

  # settings of consumers, of the producer, of a topic => what is known of b:1
  CONNECTING = [
    [{}, {}, {}, {"security.protocol": "ssl", "ssl.ca.location": "a"}],
    [{}, {"bootstrap.servers": "c:1", "security.protocol": "plaintext"}, {}, {"security.protocol": "ssl", "ssl.ca.location": "a"}],
    [{"bootstrap.servers": "c:1"}, {"bootstrap.servers": "b:1", "security.protocol": "plaintext"}, {},
     {"security.protocol": "plaintext", "ssl.ca.location": "a"}],
    [{"bootstrap.servers": "c:1"}, {}, {}, nil],
    [{}, {"ssl.ca.location": "b"}, {}, nil],
    [{}, {}, {"ssl.ca.location": "b"}, nil],
    [{}, {}, {"fetch.wait.max.ms": 5}, {"security.protocol": "ssl", "ssl.ca.location": "a"}],
    [{"enable.ssl.certificate.verification": false}, {}, {},
     {"security.protocol": "ssl", "ssl.ca.location": "a", "enable.ssl.certificate.verification": false}],
    [{"bootstrap.servers": "x, SSL://b:1"}, {}, {}, {"security.protocol": "ssl", "ssl.ca.location": "a"}]
  ].freeze

  def test_the_settings_of_what_connects_to_a_broker
    CONNECTING.each do |kafka, producer, topic, expected|
      clients = clients({"bootstrap.servers": "b:1", "security.protocol": "ssl", "ssl.ca.location": "a", **kafka}, producer)
      found = clients.connecting_to("b:1", [Topic.new(topic)])
      expected.nil? ? assert_nil(found, [kafka, producer, topic].inspect) : assert_equal(expected, found)
    end
    assert_equal({}, clients({"bootstrap.servers": "b"}).connecting_to("b:9092", []))
  end

  private

  def clients(kafka, producer = {})
    config = Guildhall::Kafka::Config.new
    config.kafka = kafka
    config.producer = producer
    Guildhall::Kafka::Application::Clients.new(config)
  end
end
