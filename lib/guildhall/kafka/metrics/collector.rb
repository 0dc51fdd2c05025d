# frozen_string_literal: true

require_relative "../metrics"
require_relative "buffer"
require_relative "sampler"

module Guildhall
  module Kafka
    module Metrics
      # Makes metrics of one application's events, and takes a sample of what has no events each time that lag is measured.
      # Subscribes to nothing that `config.metrics` does not ask for. Its subscribers run in the thread that publishes.
      class Collector
        # @param backends [Array<#record>] called with a {Metric}, a number and a Hash of tags; what one raises harms no other, and no
        #   other figure
        def initialize(application, backends)
          @application = application
          @backends = backends
          @sampler = Sampler.new(application) { |*value| record(*value) }
          @buffer = Buffer.new(->(seconds, &flush) { application.timer&.after(seconds, &flush) }) { |*value| record(*value) }
        end

        def attach
          instrumentation = @application.instrumentation
          HANDLERS.each { |event, handler| instrumentation.subscribe(event) { |one| send(handler, **one.payload) } }
          self
        end

        HANDLERS = {
          "broker.unreachable" => :unreachable, "schema_registry.unreachable" => :registry_unreachable,
          "consumer.consumed" => :consumed, "consumer.skipped" => :skipped, "consumer.retrying" => :retrying,
          "filter.rejected" => :rejected, "retry_topic.dispatched" => :retry_topic,
          "dead_letter_queue.dispatched" => :dead_letter, "error.occurred" => :error, "lag.measured" => :measured,
          "rebalance.partitions_assigned" => :assigned, "rebalance.partitions_revoked" => :revoked,
          "app.stopped" => :stopped, "offsets.committed" => :committed, "partition.stalled" => :stalled, "messages.produced" => :produced,
          "transaction.committed" => :transaction, "transaction.aborted" => :aborted, "schedule.ran" => :ran
        }.freeze
        private_constant :HANDLERS

        private

        def record(name, value, tags = {})
          metric = BY_NAME.fetch(name)
          @backends.each do |backend|
            @application.instrumentation.contain(backend, "metrics") { backend.record(metric, value, tags) }
          end
        end

        def consumed(group:, topic:, partition:, size:, dropped:, bytes:, seconds:, waited:, **)
          place = {group:, topic:, partition:}
          @buffer.add(place,
            {"consumed.messages" => size, "consumed.bytes" => bytes, "consumed.batches" => 1, "dropped.messages" => dropped},
            {"consumed.seconds" => seconds, "consumed.wait_seconds" => waited})
        end

        def skipped(group:, topic:, partition:, dropped:, **)
          @buffer.add({group:, topic:, partition:}, {"dropped.messages" => dropped})
        end

        def retrying(group:, topic:, partition:, **)
          record("retries", 1, {group:, topic:, partition:})
        end

        def rejected(group:, topic:, partition:, filter:, count:)
          record("rejected.messages", count, {group:, topic:, partition:, filter:})
        end

        def retry_topic(group:, topic:, partition:, error_class:, **)
          record("retry_topic.messages", 1, {group:, topic:, partition:, error: error_class})
        end

        def dead_letter(group:, topic:, partition:, error_class:, **)
          record("dead_letters", 1, {group:, topic:, partition:, error: error_class})
        end

        def error(error:, type:, **)
          record("errors", 1, {type:, error: error.class.name.to_s})
        end

        def unreachable(broker:, reminder:, **)
          record("broker.unreachable", 1, {broker:}) unless reminder
        end

        def registry_unreachable(registry:, reminder:, **)
          record("schema_registry.unreachable", 1, {registry:}) unless reminder
        end

        def measured(partitions:, **)
          @buffer.flush
          @sampler.sample(partitions)
        end

        def stopped(**) = @buffer.flush

        def assigned(group:, **)
          record("rebalances", 1, {group:, kind: "assigned"})
        end

        def revoked(group:, lost:, **)
          record("rebalances", 1, {group:, kind: lost ? "lost" : "revoked"})
        end

        def committed(group:, seconds:, error:)
          record("commits", 1, {group:, result: error ? "failed" : "ok"})
          record("commit.seconds", seconds, {group:})
        end

        def transaction(group:, topic:, partition:, seconds:)
          record("transactions", 1, {group:, topic:, partition:, result: "committed"})
          record("transaction.seconds", seconds, {group:, topic:, partition:})
        end

        def aborted(group:, topic:, partition:, **)
          record("transactions", 1, {group:, topic:, partition:, result: "aborted"})
        end

        def ran(group:, task:, seconds:, error_class:, **)
          record("schedule.runs", 1, {group:, task:, result: error_class ? "failed" : "done"})
          record("schedule.seconds", seconds, {group:, task:})
        end

        def stalled(group:, topic:, partition:, **)
          record("stalled", 1, {group:, topic:, partition:})
        end

        def produced(topic:, size:, bytes:, seconds:, **)
          tags = {topic: topic || "several"}
          @buffer.add(tags, {"produced.messages" => size, "produced.bytes" => bytes}, {"produced.seconds" => seconds})
        end
      end
    end
  end
end
