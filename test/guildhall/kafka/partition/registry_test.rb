# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/json/confluent"
require "guildhall/schema_registry"

# What becomes of messages whose schema cannot be had; without a broker.
class KafkaRegistryTest < GuildhallTest
  def setup
    @server = RegistryServer.new
    @server.add(1, '"string"')
    @seen = []
    @attempts = []
  end

  def teardown
    @server.close
  end

  # None of these says anything about a message.
  OUTAGES = {
    401 => [401, {error_code: 40_101, message: "who are you"}], 403 => [403, {error_code: 40_301, message: "not you"}], 404 => [404, "<html>"],
    405 => [405, "<html>"], 408 => [408, {message: "slow"}], 429 => [429, {error_code: 42_901, message: "too fast"}], 502 => [502, "<html>"],
    "no JSON" => [200, "<html>"], "no schema" => [200, {}],
    "redirect" => ->(socket) { socket.write("HTTP/1.1 302 X\r\nLocation: http://registry.invalid/\r\nContent-Length: 0\r\n\r\n") }
  }.freeze

  def test_an_outage_fails_no_message_and_counts_no_attempt
    OUTAGES.each do |name, answer|
      [true, false].product(%i[eager lazy]) do |dispatch_undecodable, way|
        @seen.clear
        @attempts.clear
        @server["/schemas/ids/1"] = answer
        kafka = kafka(codec(way), dispatch_undecodable:)
        kafka.deliver(0...3) { |offset| text(1, offset) }.work(20)
        assert_equal [[], [], 0], [kafka.dead, @seen, kafka.committed.to_i], name
        assert_operator kafka.errors.size, :>=, 3, name
        assert_equal [[1], [Guildhall::SchemaRegistry::Error]], [@attempts.uniq | [1], kafka.errors.map(&:class).uniq], name
        @server.add(1, '"string"')
        kafka.work
        assert_equal [%w[0 1 2], [], 3, 1], [@seen, kafka.dead, kafka.committed, @attempts.last], name
      end
    end
  end

  def test_nobody_there
    url = @server.url
    @server.close
    kafka = kafka(codec(:eager, Guildhall::SchemaRegistry.new(url, retries: 0)))
    kafka.deliver(0...3) { |offset| text(1, offset) }.work(20)
    assert_equal [[], []], [kafka.dead, @seen]
    assert_operator kafka.errors.size, :>=, 3
  ensure
    @server = RegistryServer.new
  end

  # It is asked for now and then, however often messages are tried; those before it do not wait. A busy machine takes longer for the tries.
  def test_an_id_that_the_registry_does_not_know_is_waited_for
    %i[eager lazy json].each do |way|
      @seen.clear
      @server.requests.clear
      @server["/schemas/ids/9"] = [404, {error_code: 40_403, message: "Schema 9 not found"}]
      kafka = kafka(codec(way))
      kafka.deliver(0...4) { |offset| text(offset == 2 ? 9 : 1, offset, way) }.work(100)
      assert_equal [%w[0 1], [], 2], [@seen, kafka.dead, kafka.committed], way
      assert_operator kafka.errors.size, :>=, 10
      asked = @server.requests.count("GET /schemas/ids/9")
      assert_includes 1..(kafka.errors.size / 5), asked
      assert_match(/the registry does not know schema 9 yet \(it is asked again\)/, kafka.errors.last.message)
      @server.add(9, way == :json ? '{"type":"string"}' : '"string"', schemaType: way == :json ? "JSON" : "AVRO")
      eventually { kafka.work(10) && @seen.size == 4 }
      assert_equal [%w[0 1 2 3], [], 4], [@seen, kafka.dead, kafka.committed], way
      assert_operator @server.requests.count("GET /schemas/ids/9"), :>, asked
    end
  end

  def test_after_a_while_it_fails_the_messages_that_name_it
    registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0, unknown_after: 0.05)
    kafka = kafka(codec(:eager, registry))
    kafka.deliver(0...6) { |offset| text(offset.odd? ? 9 : 1, offset) }
    eventually { kafka.work(10) && kafka.committed == 6 }
    assert_equal [%w[0 2 4], [1, 3, 5]], [@seen, kafka.dead]
    assert_equal ["0"], kafka.application.dead_letters.map { |letter| letter[:headers]["source_attempts"] }.uniq
    asked = @server.requests.count("GET /schemas/ids/9")
    assert_operator asked, :<=, 3
    kafka.deliver(6...9) { |offset| text(offset == 7 ? 9 : 1, offset) }.work
    assert_equal [%w[0 2 4 6 8], [1, 3, 5, 7], asked], [@seen, kafka.dead, @server.requests.count("GET /schemas/ids/9")], "what was answered is remembered"
  end

  # As other errors of a payload do, where the route does not send undecodable ones away at once.
  def test_it_counts_as_an_attempt_then
    registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0, unknown_after: 0.05)
    kafka = kafka(codec(:eager, registry), dispatch_undecodable: false, max_retries: 2)
    kafka.deliver(0...3) { |offset| text(offset == 1 ? 9 : 1, offset) }
    eventually { kafka.work(10) && kafka.committed == 3 }
    assert_equal [%w[0 2], [1], "3"], [@seen.uniq, kafka.dead, kafka.application.dead_letters.first[:headers]["source_attempts"]]
    assert_equal "Guildhall::Avro::UnknownSchemaError", kafka.application.dead_letters.first[:headers]["source_error_class"]
  end

  private

  def kafka(codec, max_retries: 0, dispatch_undecodable: true)
    seen = @seen
    attempts = @attempts
    consumer = Class.new(Guildhall::Kafka::Consumer) do
      define_method(:consume) do
        attempts << attempt
        messages.each_marking { |message| seen << message.payload }
      end
    end
    KafkaPartition.new(consumer) do
      deserializer codec
      dead_letter_queue(topic: "dead", max_retries:, dispatch_undecodable:)
    end
  end

  def codec(way, registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0))
    return Both.new(Guildhall::Avro::Confluent.new(registry), Guildhall::JSON::Confluent.new(registry)) if way == :json

    codec = Guildhall::Avro::Confluent.new(registry)
    way == :lazy ? codec.lazy : codec
  end

  # Schema 9 is one of JSON.
  class Both
    def initialize(avro, json)
      @avro = avro
      @json = json
    end

    def call(bytes) = (bytes.getbyte(4) == 9 ? @json : @avro).decode(bytes)
  end

  def text(id, offset, way = :avro)
    body = id == 9 && way == :json ? JSON.generate(offset.to_s) : "\x02#{offset}"
    ["\0", [id].pack("N"), body].join.b.freeze
  end
end
