# frozen_string_literal: true

require_relative "../events"
require_relative "../metrics"
require_relative "sampler"

module Guildhall
  module Kafka
    module Metrics
      # Makes metrics of one application's events, and lets {Sampler} measure the rest each time that lag is measured. Subscribes only to
      # events that become a figure. Its subscribers run in the thread that publishes.
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

        # Collects figures of batches, and passes them to the backends together, a quarter of a second later at the latest: counters added
        # up, each value of a distribution. Batches come by the hundred a second, and a backend that is called once between two batches
        # takes much longer than one that is called in a row. Of a batch only numbers are kept: objects that wait here would grow old, and
        # Ruby collects old ones by going through all that there are. Used by any thread.
        class Buffer
          DELAY_SECONDS = 0.25
          private_constant :DELAY_SECONDS

          # @param later [#call] called with seconds and a block, which it calls then; returns nil where it will not
          # @yieldparam name [String] of a metric
          def initialize(later, &record)
            @later = later
            @record = record
            @lock = Mutex.new
            clear
          end

          # @param counts [Hash{String=>Integer}] growth of counters, by metric
          # @param values [Hash{String=>Numeric}] of distributions, by metric
          def add(tags, counts, values = {})
            due = @lock.synchronize do
              clear unless @owner == Process.pid # the parent passes its own on
              sums = @counts[tags]
              counts.each { |name, count| sums[name] += count }
              lists = @values[tags]
              values.each { |name, value| lists[name] << value }
              take unless @waiting ||= @later.call(DELAY_SECONDS) { flush }
            end
            pass_on(*due)
          end

          # Passes on what there is.
          def flush
            pass_on(*@lock.synchronize { take })
          end

          private

          def clear
            @owner = Process.pid
            @waiting = nil # for {#flush} to be called
            @counts = Hash.new { |counts, tags| counts[tags] = Hash.new(0) }
            @values = Hash.new { |values, tags| values[tags] = Hash.new { |lists, name| lists[name] = [] } }
          end

          # With the lock held.
          def take
            [@counts, @values].tap { clear }
          end

          def pass_on(counts = {}, values = {})
            counts.each { |tags, sums| sums.each { |name, sum| @record.call(name, sum, tags) if sum.positive? } }
            values.each { |tags, lists| lists.each { |name, list| list.each { |value| @record.call(name, value, tags) } } }
          end
        end
      end
    end
  end
end
