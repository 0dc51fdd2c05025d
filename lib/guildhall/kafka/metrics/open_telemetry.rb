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

        # Middleware: a span for each batch that is consumed, linked to the spans that its messages were produced in; for each job one
        # within the trace that enqueued it. What is produced carries the current span in its headers (`traceparent`). Sampling is the
        # SDK's. Names and attributes are those of OpenTelemetry's semantic conventions for messaging.
        #
        #     tracing = Guildhall::Kafka::Metrics::OpenTelemetry::Tracing.new
        #     config.middleware << tracing
        #     config.producer_middleware << tracing.method(:produce)
        class Tracing
          # @api private
          MAX_LINKS = 128 # the SDK keeps no more of a span's
          RULES = OptionRules.new("argument", tracer: OptionRules.object("an OpenTelemetry::Trace::Tracer", :in_span).or(nil))
          private_constant :RULES

          # Propagators expect Strings and raise for anything else: what a foreign producer wrote must not keep a message from being
          # consumed.
          module Headers
            class << self
              # @return [String, nil] nil also for a header that is there several times, or has invalid bytes
              def get(headers, name)
                value = headers[name]
                value if value.is_a?(String) && value.valid_encoding?
              end

              def keys(headers) = headers.keys
            end
          end
          private_constant :Headers

          # @param tracer [::OpenTelemetry::Trace::Tracer, nil] nil: one of the process's provider
          # @raise [MissingDependencyError] without the gem opentelemetry-api
          # @raise [Guildhall::ArgumentError] for what is no tracer
          def initialize(tracer = nil)
            RULES.check!({tracer:}, owner: self.class)
            SoftDependency.require!("opentelemetry-api", gem: "opentelemetry-api", purpose: self.class.name)
            @tracer = tracer || ::OpenTelemetry.tracer_provider.tracer("guildhall", VERSION)
            @common = {}
          end

          def call(call, &block)
            return block.call unless call.consuming?
            return message(call.messages.first, call.topic.group, &block) if call.event == :perform

            name, attributes = common(call.name, call.partition, call.topic.group)
            about = {**attributes, "messaging.batch.message_count" => call.messages.size}
            in_span(name, about, links: links(call.messages), &block)
          end

          # A span for one message, in the trace that it was produced in: for consumers that want one for each.
          # @return [Object] what the block returns
          def message(message, group = nil, &)
            context = extracted(message.raw_headers)
            name, attributes = common(message.topic, message.partition, group)
            about = {**attributes, "messaging.kafka.offset" => message.offset}
            ::OpenTelemetry::Context.with_current(context) { in_span(name, about, &) }
          end

          # A step of `config.producer_middleware`.
          # @return [Hash{Symbol=>Object}] with headers that name the current span, where there is one
          def produce(message)
            carrier = {}
            ::OpenTelemetry.propagation.inject(carrier)
            carrier.empty? ? message : message.merge(headers: {**message[:headers].to_h, **carrier})
          end

          private

          def in_span(name, attributes, links: nil, &block)
            failure = nil
            value = @tracer.in_span(name, attributes:, links:, kind: :consumer) do |span|
              block.call
            rescue Exception => error # rubocop:disable Lint/RescueException -- as the API does, which records all of the message
              record(span, failure = error)
            end
            failure ? raise(failure) : value
          end

          def record(span, error)
            span.record_exception(Redaction.copy(error, messages: Kafka.config.messages_of_errors?))
            span.status = ::OpenTelemetry::Trace::Status.error("Unhandled exception of type: #{error.class}")
          end

          # A span's name and what all spans of a partition say. Made once: spans wait for their export, and what waits grows old.
          def common(topic, partition, group)
            @common[[topic, partition, group]] ||= [
              "process #{topic}".freeze,
              {"messaging.system" => "kafka", "messaging.operation.name" => "process", "messaging.operation.type" => "process",
               "messaging.destination.name" => topic, "messaging.destination.partition.id" => partition.to_s.freeze,
               "messaging.consumer.group.name" => group}.compact.freeze
            ].freeze
          end

          # Read from the records: looking at them is not consuming.
          def links(messages)
            messages.records_with_header("traceparent", MAX_LINKS).filter_map { |record| link(record.headers) }
          end

          def link(headers)
            context = ::OpenTelemetry::Trace.current_span(extracted(headers)).context
            ::OpenTelemetry::Trace::Link.new(context) if context.valid?
          end

          def extracted(headers) = ::OpenTelemetry.propagation.extract(headers, getter: Headers)
        end
      end
    end
  end
end
