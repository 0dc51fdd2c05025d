# frozen_string_literal: true

require_relative "../events"
require_relative "../metrics"
require_relative "buffer"
require_relative "sampler"

module Guildhall
  module Kafka
    module Metrics
      # Makes metrics of one application's events, and takes a sample of what has no events each time that lag is measured. Subscribes only
      # to what becomes a figure. Its subscribers run in the thread that publishes.
      class Collector
        # @param backends [Array<#record>] called with a {Metric}, a number and a Hash of tags; what one raises harms no other, and no
        #   other figure
        def initialize(application, backends)
          @application = application
          @backends = backends
          @sampler = Sampler.new(application) { |*value| record(*value) }
          @buffer = Buffer.new(->(seconds, &flush) { application.timer&.after(seconds, &flush) }) { |*value| record(*value) }
        end

        # Subscribes to each event that has a method below, with "_" for ".".
        def attach
          Events::NAMES.each do |name|
            handler = name.tr(".", "_")
            @application.instrumentation.subscribe(name) { |event| send(handler, **event.payload) } if respond_to?(handler, true)
          end
          self
        end

        private

        def record(name, value, tags = {})
          metric = BY_NAME.fetch(name)
          @backends.each do |backend|
            @application.instrumentation.contain(backend, "metrics") { backend.record(metric, value, tags) }
          end
        end

        def count(name, payload, **tags) = record(name, 1, {**payload.slice(*PLACE), **tags})

        def consumer_consumed(size:, bytes:, dropped:, seconds:, waited:, **payload)
          @buffer.add(payload.slice(*PLACE),
            {"consumed.messages" => size, "consumed.bytes" => bytes, "consumed.batches" => 1, "dropped.messages" => dropped},
            {"consumed.seconds" => seconds, "consumed.wait_seconds" => waited})
        end

        def consumer_skipped(dropped:, **payload) = @buffer.add(payload.slice(*PLACE), {"dropped.messages" => dropped})

        def messages_produced(topic:, size:, bytes:, seconds:, **)
          tags = {topic: topic || "several"}
          @buffer.add(tags, {"produced.messages" => size, "produced.bytes" => bytes}, {"produced.seconds" => seconds})
        end

        def consumer_retrying(**payload) = count("retries", payload)

        def filter_rejected(filter:, count:, **payload) = record("rejected.messages", count, {**payload.slice(*PLACE), filter:})

        def retry_topic_dispatched(error_class:, **payload) = count("retry_topic.messages", payload, error: error_class)

        def dead_letter_queue_dispatched(error_class:, **payload) = count("dead_letters", payload, error: error_class)

        def error_occurred(error:, type:, **) = record("errors", 1, {type:, error: error.class.name.to_s})

        def broker_unreachable(broker:, reminder:, **)
          record("broker.unreachable", 1, {broker:}) unless reminder
        end

        def schema_registry_unreachable(registry:, reminder:, **)
          record("schema_registry.unreachable", 1, {registry:}) unless reminder
        end

        def rebalance_partitions_assigned(group:, **) = record("rebalances", 1, {group:, kind: "assigned"})

        def rebalance_partitions_revoked(group:, lost:, **) = record("rebalances", 1, {group:, kind: lost ? "lost" : "revoked"})

        def offsets_committed(group:, seconds:, error:)
          record("commits", 1, {group:, result: error ? "failed" : "ok"})
          record("commit.seconds", seconds, {group:})
        end

        def transaction_committed(seconds:, **payload)
          count("transactions", payload, result: "committed")
          record("transaction.seconds", seconds, payload.slice(*PLACE))
        end

        def transaction_aborted(**payload) = count("transactions", payload, result: "aborted")

        def schedule_ran(group:, task:, seconds:, error_class:, **)
          record("schedule.runs", 1, {group:, task:, result: error_class ? "failed" : "done"})
          record("schedule.seconds", seconds, {group:, task:})
        end

        def partition_stalled(**payload) = count("stalled", payload)

        def lag_measured(partitions:, **)
          @buffer.flush
          @sampler.sample(partitions)
        end

        def app_stopped(**) = @buffer.flush
      end
    end
  end
end
