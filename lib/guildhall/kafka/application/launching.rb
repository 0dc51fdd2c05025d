# frozen_string_literal: true

require "guildhall/error_boundary"
require_relative "../broker/target_check"

module Guildhall
  module Kafka
    class Application
      # How an application's threads come to life, and what they do from time to time.
      module Launching
        CHECK_AFTER_SECONDS = 2 # after the start, until topics that messages are sent on to are looked at
        # Between two calls of `tick`; a consumer that wants another time declares it with `every`.
        TICK_SECONDS = 5
        # Between two events `lag.measured`. No broker is asked, and monitoring systems look every ten seconds at most.
        LAG_SECONDS = 5
        private_constant :CHECK_AFTER_SECONDS, :TICK_SECONDS, :LAG_SECONDS

        # Checks all that {#start} and `guildhall server` check; nothing is left running.
        # @param selection [Hash{Symbol=>Array<String>, nil}] as for {#start}
        # @return [Hash{Routing::Topic=>Deserializing::Plan}] who decodes which of the consumed topics
        # @raise [ConfigurationError] listing every error
        def check!(**selection)
          routed = validate!
          consumed = selection.empty? ? routed.select(&:consumed?) : Routing::RouteSelection.new(**selection).choose(routed)
          validate_gems(consumed)
          plans(consumed)
        ensure
          close_own_pool(1) unless running?
        end

        private

        # They are loaded here, before there is a Ractor.
        def validate_gems(topics)
          Config::Errors.new.tap { |errors| Producing::Producer.validate(topics, errors, loaded: true) }.raise!
        end

        def close_own_pool(timeout)
          @own_pool&.shutdown(timeout:)
          @own_pool = nil
        end

        # Nothing of what was begun is left where something raises: it can be started again.
        def launch_or_undo(topics)
          launched = false
          launch(topics)
          launched = true
        ensure
          undo_launch unless launched
        end

        def undo_launch
          now = Clock.now
          @members.each { |members| members.stop(now + 1) }.each { |members| members.join(now + EXIT_TIMEOUT_SECONDS) }
          @timer&.close
          @runners&.close(now)
          wait_background(now + 1)
          close_own_pool(1)
          @members = []
          @lock.synchronize { @state = :initialized }
        end

        def launch(topics)
          @members = []
          @timer = @runners = nil
          @config.freeze unless @config.frozen?
          open_log
          measure
          ask_advisers
          Producing::Producer.load # while there may be no Ractor yet
          @backpressure = Runtime::Backpressure.new(@config, topics, max_messages: @max_messages_in_flight) { listeners.each(&:wake) }
          @timer = Runtime::Timer.new { |raised| error(raised, "timer") }
          @runners = Runtime::Runners.new(@config.concurrency) { |raised| error(raised, "runner") }
          @decodings = plans(topics)
          advise_of_decoding if first_process?
          @members = create_members(topics)
          stop_at_exit
          @members.each(&:start)
          begin_timing
          watch_registries(topics)
          check_soon(topics) if first_process?
          topics.map(&:consumer).uniq.each { |consumer| begin_periods(consumer) }
        end

        # @raise [ConfigurationError] listing every route whose workers cannot do what it wants of them
        def plans(topics)
          errors = Config::Errors.new
          made = topics.to_h do |topic|
            [topic, plan(topic)]
          rescue ConfigurationError => error
            [topic, errors.add(error.message)]
          end
          errors.raise!
          made.freeze
        end

        def plan(topic)
          report = ->(raised) { error(raised, "prepare", topic: topic.name) }
          Deserializing::Plan.new(topic, @runners, report:) { pool }
        end

        def advise_of_decoding
          @decodings.each do |topic, plan|
            next unless plan.refused?

            publish_advice(:deserializing, "topic #{topic}: workers cannot run its pipeline, the consumer's thread runs the pipeline " \
                                           "instead: #{plan.reason}", group: topic.group, topic: topic.to_s)
          end
        end

        def create_members(topics)
          @clients.together(topics).group_by { |together| together.first.group }.flat_map do |_, list|
            routes = Routing::GroupRoutes.new(list.flatten, routed(list.first.first.group))
            routes.names.each { |name| report_overlap(routes, name) }
            list.each_with_index.map do |together, index|
              Connection::Members.new(together, self, routes:, before: index * together.first.multiplexing.maximum)
            end
          end
        end

        def routed(group)
          @routed.select { |topic| topic.group == group && topic.consumed? }
        end

        # Later, for topics that are missing are being created, and what runs for a moment only needs no check.
        def check_soon(topics)
          @timer.after(CHECK_AFTER_SECONDS) do
            in_background { ErrorBoundary.run(->(raised) { error(raised, "advise") }) { check(topics) } }
          end
        end

        def check(topics)
          Broker::TargetCheck.new(topics, @config) { !running? }.run do |topic, group, problem|
            publish_advice(:topics, problem, group:, topic:)
          end
        end

        def begin_timing
          @timer.every(@config.commit_interval) { listeners.each(&:commit_soon) }
          @timer.every(@tick_interval) { tick }
          @timer.every(@lag_interval) { measure_lag }
          watchdog = Runtime::Watchdog.new(self, stall_timeout: @stall_timeout)
          @timer.every(watchdog.interval) { watchdog.check }
        end

        def watch_registries(topics)
          @registries = Connection::Registries.new(topics) { |name, **payload| publish(name, **payload) }
          @timer.every(Connection::Registries::LOOK_SECONDS) { @registries.look } if @registries.any?
        end

        def begin_periods(consumer)
          consumer.periods.each_with_index do |period, index|
            @timer.every(period.seconds) do
              partitions.each { |partition| partition.notify([:periodic, index]) if partition.topic.consumer.equal?(consumer) }
            end
          end
        end

        def tick
          partitions.each { |partition| partition.notify(:tick) if partition.ticks? }
        end

        def measure_lag
          partitions, unknown = @members.map(&:measure_lag).transpose.map { |lists| lists.flatten(1) }
          publish("lag.measured", partitions:, unknown:) if listening?("lag.measured")
        end
      end
    end
  end
end
