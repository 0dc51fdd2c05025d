# frozen_string_literal: true

require "guildhall/option_rules"
require "guildhall/soft_dependency"
require "guildhall/version"
require_relative "../metrics"

module Guildhall
  module Kafka
    module Metrics
      # Metrics for OpenTelemetry, by its API gems: `opentelemetry-metrics-api`. Which of them leave the process, and how, is decided by
      # the SDK. Spans: {Tracing}.
      #
      #     config.metrics << Guildhall::Kafka::Metrics::OpenTelemetry.new
      class OpenTelemetry
        # Unified Code for Units of Measure, as OpenTelemetry wants it: annotations for what is only counted.
        UNITS = {seconds: "s", bytes: "By", ratio: "1"}.freeze
        RULES = OptionRules.new(
          "argument",
          meter: OptionRules.object("an OpenTelemetry::Metrics::Meter", :create_counter, :create_gauge, :create_histogram).or(nil)
        )
        private_constant :UNITS, :RULES

        # @param meter [::OpenTelemetry::Metrics::Meter, nil] nil: one of the process's provider
        # @raise [MissingDependencyError] without the gem opentelemetry-metrics-api
        # @raise [Guildhall::ArgumentError] for what is no meter
        def initialize(meter = nil)
          RULES.check!({meter:}, owner: self.class)
          SoftDependency.require!("opentelemetry-metrics-api", gem: "opentelemetry-metrics-api", purpose: self.class.name)
          @meter = meter || provider.meter("guildhall", version: VERSION)
          @instruments = LIST.to_h { |metric| [metric.name, instrument(metric)] }
        end

        # Called by the application, in any of its threads. Does not block.
        def record(metric, value, tags)
          attributes = tags.to_h { |tag, said| [tag.to_s, said.is_a?(Symbol) ? said.to_s : said] }
          one = @instruments.fetch(metric.name)
          metric.type == :counter ? one.add(value, attributes:) : one.record(value, attributes:)
        end

        private

        # The process's, which passes on to the SDK whenever that is configured. The API gem alone does not load its accessor.
        def provider
          require "opentelemetry/metrics/global" unless ::OpenTelemetry.respond_to?(:meter_provider)
          ::OpenTelemetry.meter_provider
        end

        def instrument(metric)
          settings = {unit: UNITS.fetch(metric.unit) { "{#{metric.unit}}" }, description: metric.description}
          case metric.type
          when :counter then @meter.create_counter(metric.full_name, **settings)
          when :gauge then @meter.create_gauge(metric.full_name, **settings)
          else @meter.create_histogram(metric.full_name, **settings, **advice)
          end
        end

        # From version 0.8 of the API on. An SDK that does not follow it needs a view: docs/kafka_monitoring.md.
        def advice
          return {} unless @meter.method(:create_histogram).parameters.include?(%i[key advisory])

          {advisory: {explicit_bucket_boundaries: SECONDS}}
        end
      end
    end
  end
end

require_relative "open_telemetry/tracing" # reopens the class
