# frozen_string_literal: true

require "guildhall/clock"
require_relative "../events"
require_relative "../metrics"

module Guildhall
  module Kafka
    module Metrics
      # Makes metrics of one application's events, and lets {Sampler} measure the rest each time that lag is measured. Subscribes only to
      # events that become a figure. Its subscribers run in the thread that publishes.
      # @api private
      class Collector
        NONE = {}.freeze
        private_constant :NONE

        # @param backends [Array<#record>] called in any thread; what one raises harms no other, and no other figure
        # @param distributions [Boolean] whether one of them wants these of batches
        def initialize(application, backends, distributions: true)
          @application = application
          @backends = backends
          @distributions = distributions
          @sampler = Sampler.new(application) { |*value| record(*value) }
          @buffer = Buffer.new(->(seconds, &flush) { application.timer&.after(seconds, &flush) }) { |*value| record(*value) }
        end

        # Subscribes to each event that has a method below, with "_" for ".".
        # @param names [Array<String>] of events whose figures are wanted
        def attach(names = Events::NAMES)
          names.each do |name|
            handler = name.tr(".", "_")
            @application.instrumentation.subscribe(name) { |event| send(handler, **event.payload) } if respond_to?(handler, true)
          end
          self
        end

        # Passes on what was collected until now.
        def flush = @buffer.flush

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
            @distributions ? {"consumed.seconds" => seconds, "consumed.wait_seconds" => waited} : NONE)
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

        def oauth_token_unavailable(servers:, reminder:, **)
          record("oauth_token.unavailable", 1, {servers:}) unless reminder
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

        def garbage_collection_run(reason:, seconds:, put_off:)
          record("gc.full", 1, {reason: reason.name})
          record("gc.full_seconds", seconds, {reason: reason.name})
          record("gc.put_off", put_off)
        end

        def outbox_sent(topic:, size:) = record("outbox.sent", size, {topic:})
        def outbox_measured(**figures) = figures.each { |name, value| record("outbox.#{name}", value) }

        def batch_measured(**figures) = figures.each { |name, value| record("batches.#{name}", value) }

        def partition_stalled(**payload) = count("stalled", payload)

        def lag_measured(partitions:, **)
          flush
          @sampler.sample(partitions)
        end

        def app_stopped(**) = flush

        # Collects figures of batches, and passes them to the backends together, a quarter of a second later at the latest: counters added
        # up, each value of a distribution. Batches come by the hundred a second, and a backend that is called once between two batches
        # takes much longer than one that is called in a row. Of a batch only numbers are kept: objects that wait here would grow old, and
        # Ruby collects old ones by going through all that there are. Used by any thread.
        class Buffer
          DELAY_SECONDS = 0.25
          private_constant :DELAY_SECONDS

          # @param later [#call] called with seconds and a block, which it calls then; returns nil where it will not
          def initialize(later, &record)
            @later = later
            @record = record
            @lock = Mutex.new
            clear
          end

          # @param counts [Hash{String=>Integer}] growth of counters
          # @param values [Hash{String=>Numeric}] of distributions
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

          def flush = pass_on(*@lock.synchronize { take })

          private

          def clear
            @owner = Process.pid
            @waiting = nil # for {#flush} to be called
            @counts = Hash.new { |counts, tags| counts[tags] = Hash.new(0) }
            @values = Hash.new { |values, tags| values[tags] = Hash.new { |lists, name| lists[name] = [] } }
          end

          # With the lock held.
          def take = [@counts, @values].tap { clear }

          def pass_on(counts = {}, values = {})
            counts.each { |tags, sums| sums.each { |name, sum| @record.call(name, sum, tags) if sum.positive? } }
            values.each { |tags, lists| lists.each { |name, list| list.each { |value| @record.call(name, value, tags) } } }
          end
        end
      end

      # Measures what has no events: partitions, memory, threads, the pool, the producer, the garbage collector. Used by one thread.
      # @api private
      class Sampler
        def initialize(application, &record)
          @application = application
          @record = record
          @set = {} # by the place of a partition the names of the gauges that were set for it
          @lag_known_at = {}
          @totals = Hash.new(0)
          @collected = [Clock.now, GC.total_time]
        end

        # @param lags [Array<Hash{Symbol=>Object}>] of the event `lag.measured`
        def sample(lags)
          listeners = @application.listeners.reject(&:leaving?)
          sample_lags(lags)
          listeners.group_by(&:group).each do |group, of_group|
            gauge("members", of_group.size, {group:})
            gauge("broker.silence_seconds", of_group.map { |listener| listener.answers.seconds }.min, {group:})
          end
          assigned = @application.partitions.to_set { |partition| sample_partition(partition) }
          gauge("partitions", assigned.size)
          reset_gone(assigned, listeners)
          sample_process
          sample_pool
        end

        private

        # Where the lag is not known, the last value stays, and its age grows: else an alert on lag would end as soon as an outage begins.
        def sample_lags(lags)
          lags.each do |lag|
            place = lag.slice(*PLACE)
            @lag_known_at[place] = Clock.now
            set(place, "lag.messages" => lag.fetch(:messages), "lag.seconds" => lag.fetch(:seconds))
          end
          @lag_known_at.each { |place, known_at| set(place, "lag.age_seconds" => Clock.now - known_at) }
        end

        # @return [Hash{Symbol=>Object}] its place
        def sample_partition(partition)
          place = {group: partition.topic.group, topic: partition.name, partition: partition.number}
          keys, messages = partition.parked_keys&.counts
          set(place, "parked.keys" => keys, "parked.messages" => messages) if keys
          sends = partition.topic.dead_letter_queue || partition.forwarding.used?
          set(place, "dead_letters.blocked" => partition.blocked ? 1 : 0) if sends
          place
        end

        def set(place, values)
          @set[place] = [*@set[place], *values.keys].uniq
          values.each { |name, value| gauge(name, value, place) }
        end

        # A gauge keeps its last value in Prometheus and OpenTelemetry. It becomes 0 here once the partition belongs to another process, so
        # that a sum over all processes counts it once. Partitions that a group has lost without being asked keep their gauges until the
        # group has partitions again: until then, no other process may be measuring them.
        def reset_gone(assigned, listeners)
          lost = listeners.reject(&:assigned?).map(&:group)
          gone = @set.keys.reject { |place| assigned.include?(place) || lost.include?(place[:group]) }
          gone.each do |place|
            @set.delete(place).each { |name| gauge(name, 0, place) }
            @lag_known_at.delete(place)
          end
        end

        def sample_process
          flight = @application.backpressure
          gauge("in_flight.messages", flight.messages)
          gauge("in_flight.bytes", flight.bytes)
          gauge("runners.busy", @application.runners.busy)
          gauge("runners.waiting", @application.runners.waiting)
          gauge("producer.queued", @application.producer_queue)
          before = @collected
          @collected = [Clock.now, GC.total_time] # seconds, nanoseconds
          gauge("gc.share", (@collected.last - before.last).fdiv([(@collected.first - before.first) * 1_000_000_000, 1].max))
        end

        def sample_pool
          stats = @application.pool_in_use&.stats or return
          %i[workers busy queued].each { |name| gauge("pool.#{name}", stats[name]) }
          gauge("pool.breaker_open", stats[:breaker_open] ? 1 : 0)
          count("pool.payloads", stats[:inlined], {place: "inline"})
          count("pool.payloads", stats[:by_workers], {place: "workers"})
          count("pool.deaths", stats[:deaths])
          %w[wait run].each do |what|
            stats[:"#{what}_seconds"].each { |percentile, seconds| gauge("pool.#{what}_seconds", seconds, {percentile:}) if seconds }
          end
        end

        def gauge(name, value, tags = {}) = @record.call(name, value, tags)

        # Adds to the counter what has come since the last sample. Negative where another pool has taken the place of the first.
        def count(name, total, tags = {})
          growth = total - @totals[[name, tags]]
          @totals[[name, tags]] = total
          @record.call(name, growth, tags) if growth >= 0
        end
      end
    end
  end
end
