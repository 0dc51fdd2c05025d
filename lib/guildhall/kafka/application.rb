# frozen_string_literal: true

require "guildhall/clock"
require_relative "config"
require_relative "routing/routes"
require_relative "routing/selection"
require_relative "runners"
require_relative "timer"
require_relative "listener"
require_relative "in_flight"
require_relative "decoding"
require_relative "group_lag"
require_relative "replay"
require_relative "events"
require_relative "watchdog"
require_relative "log"
require_relative "application/producing"

module Guildhall
  module Kafka
    # Settings, routes and everything that runs: one of them is the process's, behind `Guildhall::Kafka`; tests may
    # have others. Belongs to the main Ractor; its methods may be called by any thread.
    class Application
      include Producing

      # Seconds for an orderly stop when the process ends without one.
      EXIT_TIMEOUT = 10

      # @return [Config]
      attr_reader :config
      # @return [Routing::Routes]
      attr_reader :routes
      # @return [Instrumentation]
      attr_reader :instrumentation
      # @return [Runners]
      attr_reader :runners
      # @return [Timer]
      attr_reader :timer
      # @return [InFlight, nil] what is in memory and not done; nil before the start
      attr_reader :in_flight
      # @return [Symbol] :initialized, :running, :stopping or :stopped
      attr_reader :state
      # @return [FatalError, nil] why a group is not consumed any more, although nobody has stopped it; others go on
      attr_reader :failure

      def initialize
        @config = Config.new
        @routes = Routing::Routes.new(@config)
        @instrumentation = Instrumentation.new(Events::NAMES)
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @state = :initialized
        @listeners = []
        @producer = @producer_pid = @own_pool = @failure = @on_failure = @log = @runners = @timer = nil
        @quiet = false
      end

      # Checks settings and routes; nothing is started.
      # @return [Array<Routing::Topic>]
      # @raise [ConfigurationError] listing every fault
      def validate!
        faults = Faults.new
        @config.validate(faults)
        topics = @routes.topics(faults)
        faults.raise!
        clients(topics).each { |together| Config::Timeouts.validate(client_settings(together.first), @config.revocation_timeout, faults) }
        InFlight.validate(@config, topics, faults)
        faults.raise!
        topics
      end

      # Starts to consume, in threads of its own; returns at once.
      # @param selection [Hash{Symbol=>Array<String>, nil}] groups:, topics:, exclude_groups:, exclude_topics: as in
      #   {Routing::Selection#initialize}
      # @return [self]
      # @raise [ConfigurationError] listing every fault
      def start(**selection)
        chosen = Routing::Selection.new(**selection).choose(validate!)
        @lock.synchronize do
          raise Guildhall::Error, "this application was started before: it is #{@state}" unless @state == :initialized

          @state = :running
        end
        @config.freeze unless @config.frozen?
        @log ||= Log.attach(@config.logger, @instrumentation) if @config.logger
        launch_or_undo(chosen)
        publish("app.running", groups: chosen.map(&:group).uniq)
        self
      end

      # Finishes the work in progress, commits, leaves the group. Blocks until that is done, or the time is over; but
      # not for a consumer, or who is told an event by one of the application's threads: it would wait for itself.
      # @param timeout [Numeric, nil] seconds; nil: `config.shutdown_timeout`
      # @return [Boolean] whether all work in progress was finished, and the brokers have answered; false where it does not
      #   wait
      def stop(timeout: nil)
        return !Thread.new { stop(timeout:) } if own?(Thread.current)

        deadline = Clock.now + (timeout || @config.shutdown_timeout)
        return wait_stopped && close_producer(deadline) unless begin_stop

        publish("app.stopping")
        clean = shut_down(deadline)
        finish_stop
        clean
      end

      # Blocks until the application has been stopped.
      # @param timeout [Numeric, nil] seconds; nil: for as long as it takes
      # @return [Boolean]
      def wait_stopped(timeout = nil)
        @lock.synchronize do
          limit = timeout && (Clock.now + timeout)
          @changed.wait(@lock, limit && Clock.left(limit)) until stopped? || (limit && Clock.now >= limit)
          stopped?
        end
      end

      # No new work from now on, whatever is assigned; what is in work is finished, and the membership in the group goes
      # on.
      # @return [void]
      def quiet
        @quiet = true
        partitions.each { |partition| partition.pause(nil) }
      end

      # @return [Boolean] whether {#quiet} was called
      def quiet?
        @quiet
      end

      # @return [Boolean]
      def running?
        @state == :running
      end

      # @return [Array<Partition>] those that are assigned now
      def partitions
        @listeners.flat_map(&:partitions)
      end

      # How far the groups are behind, as the broker knows it; whether this application runs does not matter. Blocks for
      # the broker's answers.
      # @param groups [Array<String>, nil] only these consumer groups; nil: all
      # @return [Array<GroupLag::Row>]
      # @raise [ConfigurationError] listing every fault
      # @raise [Rdkafka::RdkafkaError]
      def lag(groups: nil)
        clients(Routing::Selection.new(groups:).choose(validate!)).flat_map { |topics| GroupLag.new(client_settings(topics.first), topics).rows }
      end

      # Opens a dead letter topic, to look through it or to replay it. Whether this application runs does not matter.
      # @param name [String]
      # @yieldparam letters [DeadLetterTopic] closed when the block ends
      # @return [Object] what the block returns
      # @raise [Guildhall::ArgumentError] where there is no such topic
      # @raise [ConfigurationError] listing every fault
      # @raise [Rdkafka::RdkafkaError]
      def dead_letters(name)
        validate!
        letters = DeadLetterTopic.new(name, @config)
        yield letters
      ensure
        letters&.close
      end

      # The block is called, in a thread that must not wait for long, when a group cannot be consumed any more: see {#failure}.
      # @return [void]
      def on_failure(&block)
        @on_failure = block
      end

      # @!visibility private
      def failed(error, **payload)
        @failure ||= error
        error(error, "fatal", **payload)
        @on_failure&.call
      end

      # @!visibility private
      def decoding(topic)
        @decodings.fetch(topic)
      end

      # Several clients of one group are as many members, of which each needs a name of its own where they have names.
      # @!visibility private
      def client_settings(topic, number = 1)
        settings = Config::LibrdkafkaSettings::DEFAULTS.merge(@config.kafka.transform_keys(&:to_sym), topic.kafka)
        settings[:"auto.offset.reset"] = topic.initial_offset if topic.initial_offset
        settings[:"group.instance.id"] = "#{settings[:"group.instance.id"]}-#{number}" if number > 1 && settings.key?(:"group.instance.id")
        settings.merge("client.id": @config.client_id, "group.id": topic.group, "enable.auto.offset.store": false,
          "enable.auto.commit": false)
      end

      # @!visibility private
      def publish(name, **payload)
        @instrumentation.publish(name, **payload)
      end

      # @!visibility private
      def listening?
        @instrumentation.listening?
      end

      # @!visibility private
      def error(error, type, **payload)
        publish("error.occurred", error:, type:, **payload)
      end

      private

      def own?(thread)
        [@runners, @timer, *@listeners].compact.any? { |one| one.include?(thread) }
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
        @listeners.each { |listener| listener.stop(now + 1) }.each { |listener| listener.join(now + EXIT_TIMEOUT) }
        @timer&.close
        @runners&.close(now)
        @own_pool&.shutdown(timeout: 1)
        @listeners = []
        @own_pool = nil
        @lock.synchronize { @state = :initialized }
      end

      def launch(topics)
        Producer.load # while there may be no Ractor yet
        @decodings = topics.to_h { |topic| [topic, Decoding.for(topic, @config) { pool }] }.freeze
        @in_flight = InFlight.new(@config, topics) { @listeners.each(&:wake) }
        @timer = Timer.new { |fault| error(fault, "timer") }
        @runners = Runners.new(@config.concurrency) { |fault| error(fault, "runner") }
        @listeners = listeners(topics)
        stop_at_exit
        @listeners.each(&:start)
        begin_timing
      end

      def listeners(topics)
        clients(topics).group_by { |together| together.first.group }.flat_map do |_, list|
          list.each_with_index.map { |together, index| Listener.new(together, self, number: index + 1) }
        end
      end

      def begin_timing
        @timer.every(@config.commit_interval) { @listeners.each(&:commit_soon) }
        @timer.every(@config.tick_interval) { tick }
        @timer.every(@config.lag_interval) { measure_lag }
        watchdog = Watchdog.new(self)
        @timer.every(watchdog.interval) { watchdog.check }
      end

      # @return [Array<Array<Routing::Topic>>] those together that one client can read
      def clients(topics)
        topics.group_by { |topic| [topic.group, topic.kafka, topic.initial_offset] }.values
      end

      # A script that ends, or raises, without a stop: librdkafka's threads must not call into a Ruby that is gone.
      def stop_at_exit
        owner = Process.pid
        at_exit { stop(timeout: EXIT_TIMEOUT) if (running? || @producer) && Process.pid == owner }
      end

      def tick
        partitions.each { |partition| partition.notify(:tick) if partition.ticks? }
      end

      def measure_lag
        lags = @listeners.flat_map { |listener| listener.partitions.filter_map { |one| one.measure_lag&.merge(group: listener.group) } }
        publish("lag.measured", partitions: lags) if listening?
      end

      def pool
        @config.pool || (@own_pool ||= Pool.new(workers: @config.deserializing.parallel.concurrency))
      end

      def begin_stop
        @lock.synchronize do
          next false unless @state == :running

          @state = :stopping
        end
      end

      # The listeners get most of the time; what is left of it is for closing.
      def shut_down(deadline)
        @listeners.each { |listener| listener.stop(deadline - 1) }
        clean = @listeners.map { |listener| listener.join(deadline) }.all?
        @timer.close
        clean = @runners.close(deadline) && clean
        clean = close_producer(deadline) && clean
        @own_pool&.shutdown(timeout: Clock.left(deadline, least: 1))
        clean
      end

      def finish_stop
        @lock.synchronize do
          @state = :stopped
          @changed.broadcast
        end
        publish("app.stopped")
      end

      def stopped?
        %i[stopped initialized].include?(@state)
      end
    end
  end
end
