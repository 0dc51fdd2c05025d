# frozen_string_literal: true

require_relative "../error_tracking"

module Guildhall
  module Kafka
    class ErrorTracking
      # What trackers are told, each by its own gem. The gem is set up by the application, as its guide says.
      module Vendors
        TAGS = %i[handler group topic partition type outage].freeze
        private_constant :TAGS

        # @param name [Symbol]
        def self.of(name)
          wanted = {appsignal: [AppSignal, "appsignal"], datadog: [Datadog, "datadog"], honeybadger: [Honeybadger, "honeybadger"],
                    new_relic: [NewRelic, "newrelic_rpm"], sentry: [Sentry, "sentry-ruby"]}
          adapter, gem = wanted.fetch(name) do
            raise Guildhall::ArgumentError, OptionRules.unknown("error tracker #{name}", name, wanted.keys)
          end
          SoftDependency.require!(gem, gem:, purpose: adapter.name)
          adapter.new
        end

        # @return [Hash{Symbol=>String}] what one looks for
        def self.tags(context) = context.slice(*TAGS).transform_values(&:to_s)

        # @return [Hash{String=>String}] headers of the message that is consumed, where it is one, so that its trace goes on
        def self.headers(call)
          return {} unless call.first_offset == call.last_offset

          call.record(call.first_offset).headers.select { |_, value| value.is_a?(String) && value.valid_encoding? }
        end

        # Runs the block where an agent would report each error that passes it: the error goes on outside.
        # @yieldparam run [#call]
        def self.shielded(block)
          failure = value = nil
          yield(lambda do
            value = block.call
          rescue Exception => failure # rubocop:disable Lint/RescueException, Naming/RescuedExceptionsVariableName -- it is raised again
            nil
          end)
          failure ? raise(failure) : value
        end

        # Sentry: errors, and transactions of the operation `queue.process` as its sampling says.
        class Sentry
          def report(error, context)
            ::Sentry.with_scope do |scope|
              scope.set_tags(Vendors.tags(context))
              scope.set_context("kafka", context)
              scope.set_transaction_name(context[:handler], source: :task) if context[:handler]
              ::Sentry.capture_exception(error)
            end
          end

          def trace(call, handler)
            ::Sentry.with_scope do |scope|
              transaction = begin_transaction(call, handler) or return yield
              scope.set_span(transaction)
              status = "internal_error"
              begin
                yield.tap { status = "ok" }
              ensure
                transaction.set_status(status)
                transaction.finish
              end
            end
          end

          def produce(message)
            headers = ::Sentry.get_current_scope&.get_span && ::Sentry.get_trace_propagation_headers
            headers ? message.merge(headers: {**message[:headers].to_h, **headers}) : message
          end

          private

          def begin_transaction(call, handler)
            about = {name: handler, op: "queue.process", source: :task}
            continued = ::Sentry.continue_trace(Vendors.headers(call), **about)
            transaction = ::Sentry.start_transaction(transaction: continued, **about) or return
            {"messaging.destination.name" => call.name, "messaging.message.retry.count" => call.attempt - 1}
              .each { |name, value| transaction.set_data(name, value) }
            transaction
          end
        end

        # Honeybadger: errors.
        class Honeybadger
          def report(error, context)
            component, action = context[:handler]&.split("#")
            ::Honeybadger.notify(error, component:, action:, context:, tags: %w[kafka])
          end
        end

        # AppSignal: errors and transactions, in its namespace "background".
        class AppSignal
          NAMESPACE = "background"
          private_constant :NAMESPACE

          def report(error, context)
            ::Appsignal.report_error(error) do |transaction|
              transaction.set_namespace(NAMESPACE)
              transaction.set_action(context[:handler]) if context[:handler]
              transaction.add_tags(Vendors.tags(context))
              transaction.add_custom_data(kafka: context)
            end
          end

          def trace(_call, handler, &block)
            return yield if ::Appsignal::Transaction.current?

            Vendors.shielded(block) { |run| ::Appsignal.monitor(namespace: NAMESPACE, action: handler, &run) }
          end
        end

        # New Relic: errors, and transactions that continue the trace of a message that is consumed alone.
        class NewRelic
          def report(error, context) = ::NewRelic::Agent.notice_error(error, custom_params: context, metric: context[:handler])

          def trace(call, handler, &block)
            Vendors.shielded(block) do |run|
              ::NewRelic::Agent::Tracer.in_transaction(partial_name: handler.tr("#", "/"), category: :task) do
                headers = Vendors.headers(call)
                ::NewRelic::Agent::DistributedTracing.accept_distributed_trace_headers(headers, "Kafka") if headers.any?
                run.call
              end
            end
          end

          def produce(message)
            headers = {}
            ::NewRelic::Agent::DistributedTracing.insert_distributed_trace_headers(headers) if ::NewRelic::Agent::Tracer.current_transaction
            headers.empty? ? message : message.merge(headers: {**message[:headers].to_h, **headers})
          end
        end

        # Datadog: spans, which its error tracking reads, linked to those that have produced the messages; and data streams, where they are
        # switched on.
        class Datadog
          MOST_LINKS = 128
          PATHWAY = "dd-pathway-ctx-base64"
          private_constant :MOST_LINKS, :PATHWAY

          def report(error, context, span = ::Datadog::Tracing.active_span)
            return ::Datadog::Tracing.trace("guildhall.error") { |own| report(error, context, own) } unless span

            span.set_error(error)
            context.each { |name, value| span.set_tag("kafka.#{name}", value.to_s) }
          end

          def trace(call, handler, &block)
            tags = {"component" => "guildhall", "messaging.system" => "kafka", "messaging.destination" => call.name,
                    "kafka.group" => call.topic.group, "kafka.partition" => call.partition, "kafka.attempt" => call.attempt}
            produced = digests(call)
            Vendors.shielded(block) do |run|
              continue_from = produced.first if call.first_offset == call.last_offset
              ::Datadog::Tracing.trace("guildhall.consume", resource: handler, type: "worker", tags:, continue_from:) do |span|
                produced.each { |digest| span.links << ::Datadog::Tracing::SpanLink.new(digest) }
                consumed(call)
                run.call
              end
            end
          end

          def produce(message)
            headers = {}
            trace = ::Datadog::Tracing.active_trace
            ::Datadog::Tracing::Contrib::Karafka.inject(trace.to_digest, headers) if trace
            if streams?
              ::Datadog::DataStreams.set_produce_checkpoint(type: "kafka", destination: message[:topic].to_s) { |name, value| headers[name] = value }
            end
            headers.empty? ? message : message.merge(headers: {**message[:headers].to_h, **headers})
          end

          private

          def streams? = defined?(::Datadog::DataStreams) && ::Datadog::DataStreams.enabled?

          def digests(call)
            carriers(call, "traceparent").filter_map { |headers| ::Datadog::Tracing::Contrib::Karafka.extract(headers) }
          end

          def consumed(call)
            return unless streams?

            about = {type: "kafka", source: call.name, tags: {"group" => call.topic.group}}
            carriers(call, PATHWAY).each do |headers|
              ::Datadog::DataStreams.set_consume_checkpoint(**about) { |name| headers[name] }
            end
          end

          # @return [Array<Hash{String=>String}>]
          def carriers(call, name)
            return [Vendors.headers(call)].select { |headers| headers.key?(name) } unless call.messages.respond_to?(:records_with_header)

            call.messages.records_with_header(name, MOST_LINKS).map { |record| record.headers.select { |_, value| value.is_a?(String) } }
          end
        end
      end
    end
  end
end
