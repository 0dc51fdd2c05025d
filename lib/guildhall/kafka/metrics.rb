# frozen_string_literal: true

module Guildhall
  module Kafka
    # Every figure of a running application: its name, type, unit and tags. The backends (StatsD, Prometheus, OpenTelemetry), the guide's
    # table and the dashboards are made of {LIST}; no other place has the name of a metric.
    module Metrics
      autoload :OpenTelemetry, File.expand_path("metrics/open_telemetry", __dir__)
      autoload :Prometheus, File.expand_path("metrics/prometheus", __dir__)
      autoload :StatsD, File.expand_path("metrics/statsd", __dir__)

      # name: without the prefix "guildhall."; type: :counter, :gauge or :distribution; unit: what is counted, or :seconds, :bytes or :ratio
      # (0 to 1); tags: those that each value has.
      Metric = Data.define(:name, :type, :unit, :tags, :description) do
        # @return [String] the name in StatsD and OpenTelemetry
        def full_name = "guildhall.#{name}"

        # Gauges of the application's database: every process reports the same number, so its maximum counts, not its sum.
        # @return [Boolean] whether all processes say the same
        def shared? = type == :gauge && name.start_with?("outbox.", "batches.")
      end

      PLACE = %i[group topic partition].freeze
      # Steps of histograms. From a batch of small messages to one that takes minutes.
      SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300].freeze

      LIST = [
        # name, type, unit, tags, description
        ["consumed.messages", :counter, :messages, PLACE, "Messages that are done: marked, or `consume` has returned for them"],
        ["consumed.bytes", :counter, :bytes, PLACE, "Bytes of the batches that were consumed"],
        ["consumed.batches", :counter, :batches, PLACE,
         "Calls of `consume` after which messages were done; with virtual partitions, batches"],
        ["consumed.seconds", :distribution, :seconds, PLACE, "Time in `consume`, of a batch"],
        ["consumed.wait_seconds", :distribution, :seconds, PLACE, "Time from reading a batch to the call of `consume`"],
        ["dropped.messages", :counter, :messages, PLACE, "Messages that a pipeline's `select` left out"],
        ["rejected.messages", :counter, :messages, [*PLACE, :filter], "Messages that a filter has rejected; what waits may count again"],
        ["retries", :counter, :retries, PLACE, "Attempts that failed and will be repeated"],
        ["retry_topic.messages", :counter, :messages, [*PLACE, :error], "Messages that went to a retry topic"],
        ["dead_letters", :counter, :messages, [*PLACE, :error], "Messages that went to a dead letter topic"],
        ["dead_letters.blocked", :gauge, :partitions, PLACE, "1 while the partition waits because a message that it sends on " \
                                                             "(a dead letter, pipe_to) does not reach its topic, else 0"],
        ["errors", :counter, :errors, %i[type error], "Errors, by where they happened and by class"],
        ["lag.messages", :gauge, :messages, PLACE, "Messages of the partition that are not done"],
        ["lag.seconds", :gauge, :seconds, PLACE, "Age of the oldest message that is not done"],
        ["lag.age_seconds", :gauge, :seconds, PLACE, "Time since the lag was last known; while no broker answers, the lag keeps its value"],
        ["broker.silence_seconds", :gauge, :seconds, %i[group], "Time since a broker has last answered the group's members here"],
        ["broker.unreachable", :counter, :outages, %i[broker], "Times that a broker could not be reached, or has stopped answering"],
        ["oauth_token.unavailable", :counter, :outages, %i[servers], "Times that config.oauth_token has begun to bring no token"],
        ["schema_registry.unreachable", :counter, :outages, %i[registry], "Times that a schema registry could not be asked"],
        ["parked.keys", :gauge, :keys, PLACE, "Keys that wait because a message of theirs has failed, with `ordering :key`"],
        ["parked.messages", :gauge, :messages, PLACE, "Messages in memory of parked keys"],
        ["rebalances", :counter, :rebalances, %i[group kind], "Rebalances: assigned, revoked, or lost with the session"],
        ["commits", :counter, :commits, %i[group result], "Commits that a broker has answered: ok, or failed"],
        ["commit.seconds", :distribution, :seconds, %i[group], "Time until a broker has answered a commit"],
        ["transactions", :counter, :transactions, [*PLACE, :result], "Transactions of consumers: committed, or aborted"],
        ["transaction.seconds", :distribution, :seconds, PLACE, "Time from the beginning of a transaction until it was committed"],
        ["schedule.runs", :counter, :runs, %i[group task result], "Runs of scheduled tasks: done, or failed"],
        ["schedule.seconds", :distribution, :seconds, %i[group task], "Time that a run took"],
        ["stalled", :counter, :partitions, PLACE, "Times that a partition with messages left made no progress"],
        ["members", :gauge, :members, %i[group], "Members of the group in this process"],
        ["partitions", :gauge, :partitions, [], "Partitions that are assigned to this process"],
        ["in_flight.messages", :gauge, :messages, [], "Messages in memory that are not done"],
        ["in_flight.bytes", :gauge, :bytes, [], "Their bytes"],
        ["runners.busy", :gauge, :threads, [], "Runner threads that call consumers now"],
        ["runners.waiting", :gauge, :jobs, [], "Partitions that wait for a runner thread"],
        ["pool.workers", :gauge, :workers, [], "Worker Ractors that decode"],
        ["pool.busy", :gauge, :workers, [], "Workers that run a task now"],
        ["pool.queued", :gauge, :payloads, [], "Payloads that wait for a worker"],
        ["pool.payloads", :counter, :payloads, %i[place], "Payloads that the pool has run: inline, or by workers"],
        ["pool.wait_seconds", :gauge, :seconds, %i[percentile], "Time that a slice waits for a worker"],
        ["pool.run_seconds", :gauge, :seconds, %i[percentile], "Time that a worker decodes a slice"],
        ["pool.deaths", :counter, :workers, [], "Workers that died and were replaced"],
        ["pool.breaker_open", :gauge, :ratio, [], "1 while the circuit breaker is open: callers decode themselves"],
        ["produced.messages", :counter, :messages, %i[topic], "Messages that the application's producer has taken"],
        ["produced.bytes", :counter, :bytes, %i[topic], "Their bytes"],
        ["produced.seconds", :distribution, :seconds, %i[topic], "Time that producing took its caller"],
        ["producer.queued", :gauge, :messages, [], "Messages that wait in the producer for a broker"],
        ["gc.full", :counter, :collections, %i[reason], "Full collections that the process has run itself: idle, memory, or time"],
        ["gc.full_seconds", :distribution, :seconds, %i[reason], "Time that one of them took"],
        ["gc.put_off", :counter, :collections, [], "Full collections that Ruby would have run by itself"],
        ["outbox.sent", :counter, :messages, %i[topic], "Messages of the outbox that brokers have, and that were deleted from its table"],
        ["outbox.messages", :gauge, :messages, [],
         "Messages of the outbox that wait to be sent, 100,000 at most; all processes say the same"],
        ["outbox.seconds", :gauge, :seconds, [], "Age of the oldest of them"],
        ["outbox.parked", :gauge, :messages, [], "Messages of the outbox that brokers have refused, until they are retried or deleted"],
        ["batches.open", :gauge, :batches, [], "Batches of jobs that have not finished; all processes say the same"],
        ["batches.jobs", :gauge, :jobs, [], "Their jobs that are not done: they wait, are at work, or are dead letters"],
        ["batches.seconds", :gauge, :seconds, [], "Age of the oldest of these batches"],
        ["gc.share", :gauge, :ratio, [], "Share of the time that the garbage collector took, since the last value"]
      ].map { |name, type, unit, tags, description| Metric.new(name:, type:, unit:, tags: tags.dup.freeze, description:) }.freeze

      BY_NAME = LIST.to_h { |metric| [metric.name, metric] }.freeze
    end
  end
end
