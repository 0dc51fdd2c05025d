# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/encryption"
require "guildhall/json/confluent"
require "guildhall/kafka"

# What an application says of its routes' schema registries; without a broker.
class KafkaRegistriesTest < GuildhallTest
  # A clock that is set by hand.
  class Hand
    attr_accessor :now

    def initialize = @now = 0.0
  end

  def setup
    @server = RegistryServer.new("/schemas/ids/3" => [401, {message: "who are you"}])
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
    @clock = Hand.new
    @events = []
  end

  def teardown
    @server.close
  end

  def test_an_outage_its_reminders_and_its_end
    registries = registries { topic("t") { deserializer REGISTRY.pop } }
    registries.check
    assert_equal [[], []], [@events, registries.problems]
    fail_once
    60.times { registries.check.then { @clock.now += 1 } }
    assert_equal [["schema_registry.unreachable", false], *[["schema_registry.unreachable", true]] * 2], @events.map { |name, payload| [name, payload[:reminder]] }
    assert_equal [@server.url], @events.map { |_, payload| payload[:registry] }.uniq
    assert_match(/401 who are you; no credentials are sent: check user: and password:, or token:/, @events.last.last[:reason])
    assert_match(%r{\Aschema registry #{@server.url}: answers /schemas/ids/3 with 401 who are you.*, for [\d.]+ s\z}, registries.problems.join)
    assert_match(%r{\Aanswers /schemas/ids/3 with 401}, @events.last.last[:reason], "the event names the registry")
    @events.clear
    @server["/schemas/ids/3"] = [503, "<html>"]
    fail_once
    2.times { registries.check }
    assert_equal [true], @events.map { |_, payload| payload[:reminder] }, "another cause is told at once, and once"
    @server.add(3, '"int"')
    @registry.schema(3)
    2.times { registries.check }
    assert_equal ["schema_registry.reachable", %i[registry seconds]], [@events.last.first, @events.last.last.keys]
    assert_equal [2, []], [@events.size, registries.problems]
  end

  # As two servers behind one address do.
  def test_causes_that_alternate_have_a_growing_pause_each
    registries = registries { topic("t") { deserializer REGISTRY.pop } }
    40.times do |index|
      @server["/schemas/ids/3"] = [index.even? ? 502 : 503, "<html>"]
      fail_once
      registries.check
      @clock.now += 1
    end
    assert_equal [502, 503] * 3, @events.map { |_, payload| payload[:reason][/with (\d+)/, 1].to_i }
    assert_equal [false, *[true] * 5], @events.map { |_, payload| payload[:reminder] }
  end

  # Payloads, keys, what is written; within pipelines.
  def test_whose_registries
    assert_predicate registries { topic("t") { deserializer REGISTRY.pop.lazy >> Guildhall.map(:itself.to_proc) } }, :any?
    assert_predicate registries { topic("t") { deserializers key: REGISTRY.pop } }, :any?
    assert_predicate registries { topic("t") { serializer REGISTRY.pop } }, :any?
    assert_predicate registries { topic("t") { deserializer Guildhall::Encryption.new({"k" => "x" * 32}).decrypt >> REGISTRY.pop } }, :any?
    refute_predicate registries { topic("t") { deserializer REGISTRY.pop && Guildhall::JSON } }, :any?
  end

  REGISTRY = Thread::Queue.new

  private

  def fail_once = assert_raises(Guildhall::SchemaRegistry::Error) { @registry.schema(3) }

  def registries(&routes)
    REGISTRY << Guildhall::Avro::Confluent.new(@registry)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "localhost:1"}
    application.routes.draw(&routes)
    errors = Guildhall::Kafka::Config::Problems.new
    topics = application.routes.topics(errors)
    Guildhall::Kafka::Reachability::Registries.new(topics, clock: @clock) { |name, **payload| @events << [name, payload] }
  end
end
