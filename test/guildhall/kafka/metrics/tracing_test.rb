# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/kafka/metrics/open_telemetry"
require "opentelemetry-sdk"

class TracingTest < GuildhallTest
  TRACE = "0af7651916cd43dd8448eb211c80319c"
  PARENT = {"traceparent" => "00-#{TRACE}-b7ad6b7169203331-01"}.freeze

  class Copying < Guildhall::Kafka::Consumer
    def consume
      raise "bad" if messages.first.raw_payload == "bad" && attempt == 1

      messages.each { |message| produce_async(topic: "copies", payload: message.raw_payload) }
    end
  end

  def setup
    @exporter = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
    provider = OpenTelemetry::SDK::Trace::TracerProvider.new
    provider.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(@exporter))
    @propagation = OpenTelemetry.propagation
    OpenTelemetry.propagation = OpenTelemetry::Trace::Propagation::TraceContext.text_map_propagator
    @tracing = Guildhall::Kafka::Metrics::OpenTelemetry::Tracing.new(provider.tracer("test"))
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.config.middleware = [@tracing]
    @application.config.producer_middleware = [@tracing.method(:produce)]
    @application.routes.draw { topic("orders") { consumer Copying } }
  end

  def teardown
    OpenTelemetry.propagation = @propagation
  end

  def test_a_span_for_each_batch_with_links
    topic.deliver("a", "b", headers: PARENT).deliver("c")
    linked, alone = spans
    assert_equal ["process orders", :consumer, 2], [linked.name, linked.kind, linked.attributes["messaging.batch.message_count"]]
    assert_equal({"messaging.system" => "kafka", "messaging.destination.name" => "orders", "messaging.destination.partition.id" => "0",
                  "messaging.consumer.group.name" => "guildhall"},
      linked.attributes.slice("messaging.system", "messaging.destination.name", "messaging.destination.partition.id", "messaging.consumer.group.name"))
    assert_equal [TRACE, TRACE], linked.links.map { |link| link.span_context.hex_trace_id }
    assert_empty alone.links.to_a
  end

  def test_an_error_is_part_of_the_span
    topic.deliver("bad")
    failed, again = spans
    assert_equal [OpenTelemetry::Trace::Status::ERROR, "RuntimeError"], [failed.status.code, failed.events.first.attributes["exception.type"]]
    refute_equal OpenTelemetry::Trace::Status::ERROR, again.status.code
  end

  def test_a_span_quotes_no_payload
    Copying.class_eval { prepend(Module.new { def consume = messages.first.raw_payload == "secret" && attempt == 1 ? raise(KeyError, "key not found: \"secret\"") : super }) }
    one = topic.deliver("secret")
    assert_equal ["key not found: \"secret\""], one.errors.map(&:message)
    failed = spans.first
    assert_equal ["KeyError", "key not found"], failed.events.map { |event| event.attributes.values_at("exception.type", "exception.message") }.first
    assert_equal 1, failed.events.size
    refute_includes failed.events.first.attributes["exception.stacktrace"].lines.first, "secret"
    assert_equal [OpenTelemetry::Trace::Status::ERROR, "Unhandled exception of type: KeyError"], [failed.status.code, failed.status.description]
  end

  def test_what_is_produced_carries_the_span
    produced = topic.deliver("a").produced.first
    context = spans.first
    assert_equal "00-#{context.hex_trace_id}-#{context.hex_span_id}-01", produced[:headers]["traceparent"]
    assert_equal({topic: "t", payload: "p"}, @tracing.produce({topic: "t", payload: "p"}))
  end

  def test_a_message_of_its_own
    one = Data.define(:topic, :partition, :offset, :raw_headers).new("orders", 1, 7, PARENT)
    assert_equal :result, @tracing.message(one) { :result }
    span = spans.first
    assert_equal [TRACE, "b7ad6b7169203331", 7], [span.hex_trace_id, span.hex_parent_span_id, span.attributes["messaging.kafka.offset"]]
  end

  # Of a producer that is not ours.
  def test_headers_that_no_propagator_understands
    foreign = [%w[a b], "\xFF", "\xFF".b, ""].map { |value| {"traceparent" => value} }
    foreign << {**PARENT, "tracestate" => %w[a=1 b=2]} << {**PARENT, "tracestate" => "\xFF"}
    foreign.each_with_index do |headers, index|
      topic.deliver("a", headers:)
      assert_equal [index + 1, index < 4 ? 0 : 1], [spans.size, spans.last.links.to_a.size], headers.inspect
    end
    assert_equal :result, @tracing.message(Data.define(:topic, :partition, :offset, :raw_headers).new("orders", 1, 7, foreign.first)) { :result }
  end

  private

  def topic = @topic ||= Guildhall::Kafka::Testing.topic("orders", application: @application)
  def spans = @exporter.finished_spans
end
