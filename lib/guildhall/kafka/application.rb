# frozen_string_literal: true

require "guildhall/clock"
require_relative "config"
require_relative "routing/routes"
require_relative "routing/route_selection"
require_relative "runtime/contention"
require_relative "runtime/runners"
require_relative "runtime/timer"
require_relative "connection/members"
require_relative "connection/reachability"
require_relative "connection/registries"
require_relative "runtime/backpressure"
require_relative "deserializing/plan"
require_relative "events"
require_relative "runtime/watchdog"
require_relative "logging"
require_relative "application/advising"
require_relative "application/clients"
require_relative "application/inspecting"
require_relative "application/iterating_access"
require_relative "application/launching"
require_relative "application/producer_access"
require_relative "application/quieting"
require_relative "application/schedule_access"
require_relative "application/validation"

module Guildhall
  module Kafka
    # Settings, routes and everything that runs: one of them is the process's, behind `Guildhall::Kafka`; tests may
    # have others. Belongs to the main Ractor; its methods may be called by any thread.
    class Application
      include Advising
      include Inspecting
      include IteratingAccess
      include Launching
      include ProducerAccess
      include Quieting
      include ScheduleAccess

      # Seconds for an orderly stop when the process ends without one.
      EXIT_TIMEOUT_SECONDS = 10

      attr_reader :config, :routes, :instrumentation, :runners, :timer
      # @!visibility private
      attr_reader :members
      # @return [Runtime::Backpressure, nil] what is in memory and not done; nil before the start
      attr_reader :backpressure
      # @!visibility private
      attr_reader :contention
      # @return [Symbol] :initialized, :running, :stopping or :stopped
      attr_reader :state
      # @!visibility private
      attr_reader :reachability
      # @!visibility private
      # @return [Connection::Registries, nil] nil before the start
      attr_reader :registries
      # @return [FatalError, nil] why a group is not consumed any more, although it was not stopped; other groups continue
      attr_reader :failure

      # Numbers that nobody has to change are keywords here, for tests.
      def initialize(tick_interval: TICK_SECONDS, lag_interval: LAG_SECONDS, stall_timeout: Runtime::Watchdog::STALL_SECONDS,
                     max_messages_in_flight: nil)
        @tick_interval = tick_interval
        @lag_interval = lag_interval
        @stall_timeout = stall_timeout
        @max_messages_in_flight = max_messages_in_flight
        @config = Config.new
        @routes = Routing::Routes.new(@config)
        @clients = Clients.new(@config)
        diagnosis = Connection::TLSDiagnosis.new { |broker| @clients.connecting_to(broker, [*@routed]) }
        @reachability = Connection::Reachability.new(diagnosis) { |name, **payload| publish(name, **payload) }
        @journal = Logging::Journal.new(@config, @reachability)
        @instrumentation = Instrumentation.new(Events::NAMES) { |message| @journal.report(message) }
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @state = :initialized
        @members = []
        @abandoned = []
        @most_abandoned = 0
        @producer = @producer_pid = @own_pool = @on_failure = @runners = @timer = @stopper = @reloading = @collector = @background = nil
        @registries = @workers = nil
        reset_run
      end

      # Checks settings and routes; nothing is started.
      # @raise [ConfigurationError] listing every error
      def validate!
        Validation.new(@config, @routes, @clients).topics
      end

      # Starts to consume, in threads of its own; returns at once. After {#stop} it can be started again, with the same settings.
      # @param selection [Hash{Symbol=>Array<String>, nil}] groups:, topics:, exclude_groups:, exclude_topics: as in
      #   {Routing::RouteSelection#initialize}
      # @raise [ConfigurationError] listing every error
      def start(**selection)
        chosen = Routing::RouteSelection.new(**selection).choose(@routed = validate!)
        validate_gems(chosen)
        @lock.synchronize do
          raise ApplicationStateError, "this application is #{@state}: stop it before it is started again" unless stopped?

          @state = :running
          reset_run
        end
        launch_or_undo(chosen)
        publish("app.running", version: Guildhall::VERSION, groups: chosen.map(&:group).uniq, topics: chosen.map(&:to_s).uniq)
        self
      end

      # @return [Logger, nil] where the log goes while `config.logger` was not set; nil: to standard error, from WARN on
      def default_logger
        @journal.default
      end

      # (see #default_logger)
      def default_logger=(logger)
        @journal.default = logger
      end

      # Finishes the work in progress, commits, leaves the group. Blocks until that is done, or the time is over. Called by a
      # consumer, by a subscriber in one of the application's threads, or in a `trap`, it returns at once, and the
      # application stops in the background: {#wait_stopped} waits for it. So it does where the thread that waits is interrupted
      # (Ctrl-C, `Timeout.timeout`).
      # @param timeout [Numeric, nil] seconds; nil: `config.shutdown_timeout`
      # @return [Boolean] whether all work in progress was finished, and the brokers have answered; false where it does not
      #   wait
      def stop(timeout: nil)
        deadline = Clock.now + (timeout || @config.shutdown_timeout)
        stopper = Thread.new { stop_by(deadline) }
        stopper.report_on_exception = false # the caller gets it
        return false if trap? || own?(Thread.current)

        stopper.value || false
      end

      # @return [Array<String>] partitions ("orders/0") whose work in progress was not finished within the last stop's time
      attr_reader :unfinished

      # Blocks until the application has been stopped.
      # @param timeout [Numeric, nil] seconds; nil: for as long as it takes
      def wait_stopped(timeout = nil)
        @lock.synchronize do
          limit = timeout && (Clock.now + timeout)
          @changed.wait(@lock, limit && Clock.left(limit)) until stopped? || (limit && Clock.now >= limit)
          stopped?
        end
      end

      def running?
        @state == :running
      end

      # @return [Array<Partition>] those that are assigned now
      def partitions
        listeners.flat_map(&:partitions)
      end

      # @!visibility private
      def listeners
        @members.flat_map(&:listeners)
      end

      # In a process of a {Swarm}, before the start.
      # @!visibility private
      def process_number=(number)
        @clients.process_number = number
        @journal.label = "process #{number}"
      end

      # @!visibility private
      # @return [String] lines, as the application's log has them, that do not go through a Logger
      def format_line(...) = @journal.format_line(...)

      # Worker Ractors of the application's own pool; nil: as many as pay off.
      # @!visibility private
      attr_accessor :workers

      # So that events are logged before the start.
      # @!visibility private
      def open_log = @journal.open(@instrumentation)

      # The block is called, in a thread that must not wait for long, when a group cannot be consumed any more: see {#failure}.
      def on_failure(&block)
        @on_failure = block
      end

      # The block is asked for the class of a consumer before each of its calls: where code is reloaded, the class that the route
      # has is an old one. A consumer of another class is replaced, and its `shutdown` is called.
      # @yieldparam klass [Class] the route's
      def reload_consumers(&block)
        @reloading = block
      end

      # @!visibility private
      def consumer_class(declared)
        @reloading ? @reloading.call(declared) : declared
      end

      # @!visibility private
      def failed(error, **payload)
        @failure ||= error
        error(error, "fatal", **payload)
        @on_failure&.call
      end

      # Work of a partition that was given up goes on.
      # @!visibility private
      def abandoned(partition)
        @unfinished |= [partition.to_s] unless running?
        publish("partition.abandoned", topic: partition.name, partition: partition.number)
      end

      # @!visibility private
      # @return [Guildhall::Pool, nil] nil: none has been needed yet
      def pool_in_use
        @config.pool || @own_pool
      end

      # @!visibility private
      def decoding(topic)
        @decodings.fetch(topic)
      end

      # @!visibility private
      def client_settings(topic, number = 1)
        @clients.settings(topic, number)
      end

      # @!visibility private
      def report_overlap(routes, name)
        chosen, *others = routes.candidates(name)
        return if others.empty? || !@lock.synchronize { @overlaps.add?([routes.group, name]) }

        publish("routes.overlapping", group: routes.group, topic: name, chosen: chosen.to_s, others: others.map(&:to_s))
      end

      # @!visibility private
      def publish(name, **payload)
        @instrumentation.publish(name, **payload)
      end

      # @!visibility private
      def listening?(name)
        @instrumentation.listening?(name)
      end

      # @!visibility private
      def error(error, type, **payload)
        publish("error.occurred", error:, message: Redaction.message(error, messages: @config.messages_of_errors?), type:, **payload)
      end

      private

      # With the lock held.
      def reset_run
        @failure = nil
        @quiet = false
        @unfinished = []
        @overlaps = Set.new
        @contention = Runtime::Contention.new
      end

      # Starts the metrics, the first time.
      def measure
        return if @collector || @config.metrics.empty?

        require_relative "metrics/collector"
        @collector = Metrics::Collector.new(self, @config.metrics.dup).attach
      end

      # In a trap no lock can be taken.
      def trap?
        Mutex.new.synchronize { false }
      rescue ThreadError
        true
      end

      def own?(thread)
        thread.equal?(@stopper) || [@runners, @timer, *listeners].compact.any? { |one| one.include?(thread) }
      end

      # A script that ends, or raises, without a stop: librdkafka's threads must not call into a Ruby that is gone.
      def stop_at_exit
        owner = Process.pid
        return if @at_exit == owner

        @at_exit = owner
        at_exit { stop(timeout: EXIT_TIMEOUT_SECONDS) if (running? || @producer) && Process.pid == owner }
      end

      def pool
        @config.pool || (@own_pool ||= Pool.new(workers: @workers))
      end

      # In a thread of its own, so that an interruption of the waiting thread does not interrupt the stop.
      def stop_by(deadline)
        return wait_stopped(Clock.left(deadline)) && close_producer(deadline) unless begin_stop

        begin
          publish("app.stopping", timeout: Clock.left(deadline))
          shut_down(deadline)
        ensure
          finish_stop
        end
      end

      def begin_stop
        @lock.synchronize do
          next false unless @state == :running

          @stopper = Thread.current
          @state = :stopping
        end
      end

      # The listeners get most of the time; what is left of it is for closing.
      def shut_down(deadline)
        @members.each { |members| members.stop(deadline - 1) }
        clean = @members.map { |members| members.join(deadline) }.all?
        @timer&.close
        clean = (@runners.nil? || @runners.close(deadline)) && clean
        clean = wait_background(deadline) && clean
        clean = close_producer(deadline) && clean
        close_own_pool(Clock.left(deadline, least: 1))
        clean
      end

      def finish_stop
        @lock.synchronize do
          @state = :stopped
          @changed.broadcast
        end
        publish("app.stopped", unfinished: @unfinished)
      end

      def stopped?
        %i[stopped initialized].include?(@state)
      end
    end
  end
end
