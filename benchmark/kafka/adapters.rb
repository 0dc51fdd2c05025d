# frozen_string_literal: true

require "guildhall/kafka/metrics/open_telemetry"
require "guildhall/kafka/metrics/prometheus"
require "guildhall/kafka/metrics/statsd"
require "datadog/statsd"
require "opentelemetry-metrics-sdk"
require "opentelemetry-sdk"
require "prometheus/client"
require "socket"

# What can look at a consumer: metrics in three systems, a span for each batch, probes over HTTP.
module Adapters
  STATSD = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) } # nobody reads it, as with a real one

  class << self
    # @param config [Guildhall::Kafka::Config]
    # @param traces [Boolean] whether there are spans, too
    # @return [void]
    def switch_on(config, traces:)
      config.metrics << Guildhall::Kafka::Metrics::StatsD.new(Datadog::Statsd.new("127.0.0.1", STATSD.addr[1]))
      config.metrics << Guildhall::Kafka::Metrics::Prometheus.new
      config.metrics << Guildhall::Kafka::Metrics::OpenTelemetry.new(meter)
      config.middleware << Guildhall::Kafka::Metrics::OpenTelemetry::Tracing.new(tracer) if traces
      config.health = {host: "127.0.0.1", port: TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }}
    end

    private

    def meter
      provider = OpenTelemetry::SDK::Metrics::MeterProvider.new
      provider.add_metric_reader(OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new)
      provider.meter("bench")
    end

    # The exporter keeps no spans, as one that sends them away.
    def tracer
      provider = OpenTelemetry::SDK::Trace::TracerProvider.new
      provider.add_span_processor(OpenTelemetry::SDK::Trace::Export::BatchSpanProcessor.new(OpenTelemetry::SDK::Trace::Export::SpanExporter.new))
      provider.tracer("bench")
    end
  end
end
