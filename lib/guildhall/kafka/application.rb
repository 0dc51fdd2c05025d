# frozen_string_literal: true

require "forwardable"
require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/signal_trap"
require_relative "config"
require_relative "routing/routes"
require_relative "routing/route_selection"
require_relative "process_name"
require_relative "reachability"
require_relative "events"
require_relative "logging/event_log"
require_relative "logging/librdkafka_log"
require_relative "reporting/report"
require_relative "reporting/reporter"
require_relative "runtime"
require_relative "application/clients"
require_relative "application/producers"
require_relative "application/queries"
require_relative "application/validation"
require_relative "scheduling/tasks"

module Guildhall
  module Kafka
    # Settings and routes, and the start and the stop of a {Runtime}, which consumes with them. One of them is the process's, behind
    # `Guildhall::Kafka`; tests may have others. Belongs to the main Ractor; its methods may be called by any thread. In a signal's trap
    # {#stop} works, and so does what only reads a value ({#state}, {#quiet?}); other methods raise {SignalTrapError} there.
    class Application
      extend Forwardable

      # Seconds for an orderly stop when the process ends without one.
      # @api private
      EXIT_TIMEOUT_SECONDS = 10
      # Beyond the time of a stop, in which it ends what has not ended by itself.
      # @api private
      GRACE_SECONDS = 2
      UNDO_SECONDS = 10 # for threads to end, where not all could be started
      private_constant :UNDO_SECONDS

      # @!attribute [r] reachability
      #   @!visibility private
      attr_reader :config, :routes, :instrumentation, :reachability
      # @return [Symbol] :initialized, :starting, :running, :stopping or :stopped
      attr_reader :state

      # @!method default_logger
      #   @return [Logger, nil] where the log goes while `config.logger` was not set; nil: to standard error, from WARN on
      # @!method default_logger=(logger)
      def_delegator :@log, :default, :default_logger
      def_delegator :@log, :default=, :default_logger=
      # @!method lag(groups: nil, topics: nil)
      #   @see Queries#lag
      # @!method parked_keys(groups: nil, topics: nil)
      #   @see Queries#parked_keys
      # @!method dead_letters(name)
      #   @see Queries#dead_letters
      # @!method each_message(topic, from: :earliest, until: :end, partitions: nil, deserializer: nil)
      #   @see Queries#each_message
      # @!method search(topic, **conditions)
      #   @see Queries#search
      # @!method admin(settings = {})
      #   @see Queries#admin
      def_delegators :queries, :admin, :lag, :lag_watch, :group_settings, :parked_keys, :dead_letters, :each_message, :search
      # @!method scheduled_tasks
      #   @see Scheduling::Tasks#statuses
      def_delegator :tasks, :statuses, :scheduled_tasks
      # @!method switch_task(name, enabled)
      #   @see Scheduling::Tasks#switch
      def_delegator :tasks, :switch, :switch_task
      # @!method run_task(name, here: false, by: nil, id: nil)
      #   @see Scheduling::Tasks#run
      def_delegator :tasks, :run, :run_task

      # @param numbers [Hash{Symbol=>Numeric}] as for {Runtime#initialize}, for tests: nobody else has to change them
      def initialize(**numbers)
        @numbers = numbers
        @config = Config.new { |name, **payload| publish(name, **payload) }
        @routes = Routing::Routes.new(@config)
        @clients = Clients.new(@config)
        @queries = Queries.new(self, @clients)
        @tasks = Scheduling::Tasks.new(self)
        diagnosis = Reachability::TLSDiagnosis.new { |broker| @clients.connecting_to(broker, [*@routed]) }
        @reachability = Reachability::Brokers.new(diagnosis) { |name, **payload| publish(name, **payload) }
        @log = Logging::Log.new(@config, @reachability)
        @instrumentation = Instrumentation.new(Events::NAMES) { |message| @log.report(message) }
        @producers = Producers.new(self, @log)
        @clean = true # whether the last stop was
        # For the state, and for what is made when it is first needed. Other locks may be held when it is taken, none is taken then.
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @state = :initialized
        @advisers = @advised = @on_failure = []
        @stopper = @runtime = @routed = @own_pool = @changing = @reloading = @collector = @reporter = @at_exit = nil
        @workers = @own_process = nil
      end

      # Checks settings and routes; nothing is started. An application that runs keeps those that it has started with.
      # @raise [ConfigurationError] listing every error
      def validate! = running? ? @routed : Validation.new(@config, @routes, @clients).topics

      # Checks all that {#start} and `guildhall server` check; nothing is left running.
      # @param selection [Hash{Symbol=>Array<String>, nil}] as for {#start}
      # @return [Hash{Routing::Topic=>Decoding}] who decodes which of the consumed topics
      # @raise [ConfigurationError] listing every error
      def check!(**selection)
        SignalTrap.refuse!
        begin
          routed = validate!
          consumed = selection.empty? ? routed.select(&:consumed?) : Routing::RouteSelection.new(**selection).choose(routed)
          Runtime.decodings(self, consumed)
        ensure
          close_own_pool(1, at_rest: true)
        end
      end

      # Starts to consume, in threads of its own; returns at once. After {#stop} it can be started again, with the same settings. If {#stop}
      # is called meanwhile, it ends what it has begun, and returns without having started.
      # @param selection [Hash{Symbol=>Array<String>, nil}] groups:, topics:, exclude_groups:, exclude_topics: as in
      #   {Routing::RouteSelection#initialize}
      # @raise [ConfigurationError] listing every error
      def start(**selection)
        SignalTrap.refuse!
        begin_start
        topics = launch_or_undo(selection) or return self
        publish("app.running", version: Guildhall::VERSION, groups: topics.map(&:group).uniq, topics: topics.map(&:to_s).uniq)
        self
      end

      # Finishes the work in progress, commits, leaves the group. Blocks until that is done, or the time is over. Called by a consumer, by
      # a subscriber in one of the application's threads, or in a `trap`, it returns at once, and the application stops in the background:
      # {#wait_stopped} waits for it. So it does where the thread that waits is interrupted (Ctrl-C, `Timeout.timeout`), or something has
      # not ended {GRACE_SECONDS} after the time. `error.occurred` reports a subscriber of the stop that hangs; the stop goes on beside it.
      # @param timeout [Numeric, nil] seconds; nil: `config.shutdown_timeout`
      # @return [Boolean] whether all work in progress was finished, and the brokers have answered; false where it does not
      #   wait
      # @raise [Guildhall::ArgumentError] for what is no time
      def stop(timeout: nil)
        deadline = Clock.deadline(timeout.nil? ? @config.shutdown_timeout : timeout)
        stopper = Thread.new { stop_by(deadline) }
        stopper.report_on_exception = false # the caller gets it
        return false if SignalTrap.active? || own?(Thread.current)

        stopper.join(Clock.left(deadline) + GRACE_SECONDS)&.value || false
      end

      # Blocks until the application has been stopped.
      # @param timeout [Numeric, nil] seconds; nil: for as long as it takes
      # @return [Boolean] whether it has been stopped
      # @raise [Guildhall::ArgumentError] for what is no time
      def wait_stopped(timeout = nil)
        SignalTrap.refuse!
        limit = Clock.deadline(timeout)
        @lock.synchronize do
          @changed.wait(@lock, limit && Clock.left(limit)) until stopped? || (limit && Clock.now >= limit)
          stopped?
        end
      end

      def running? = @state == :running

      # Starts no new work until {#resume}, as before a process is taken out; what is in work is finished, and the membership in the group
      # goes on.
      def quiet = runtime&.quiet

      # Takes {#quiet} back.
      def resume = runtime&.resume

      # @return [Boolean] whether {#quiet} was called, and not taken back
      def quiet? = @runtime&.quiet? || false

      # @return [FatalError, nil] why a group is not consumed any more, although it was not stopped; other groups continue
      def failure = @runtime&.failure

      # @return [Array<String>] partitions ("orders/0") whose work in progress was not finished within the last stop's time
      def unfinished = @runtime&.unfinished || []

      # @return [Array<Partition>] those that are assigned now
      def partitions = runtime&.partitions || []

      # What the process does now, and why: as data, for monitoring of your own; `/state` of the health port answers with it, and
      # `guildhall top` shows it. No broker is asked. Within a version ("v") fields are only added; what is nil or empty is left out.
      #
      # A partition's "state" is the first that holds of: "left", "leaving", "denied" (a right is missing), "stalled", "blocked" (what it
      # sends elsewhere does not arrive), "seeking", "backoff", "keys" (the limit of parked keys), "paused", "filter", "quiet", "sending",
      # "working", "queued" (all runners are busy), "waiting". The "kind" of its last "error" is "counted", "outage", "contention" or
      # "not_called" (raised before `consume`).
      # @return [Hash{String=>Object}] frozen, as JSON has it: see {Reporting::Report}
      def report = Reporting::Report.new(self, runtime).to_h

      # @return [String] what reports and commands call this process, since its last start: HOST:PID:BOOT
      def process_name = ProcessName.of(@runtime&.started_at)

      # @!visibility private
      # @return [Reporting::Reporter, nil] nil: `config.reports` is false
      def reporter
        @lock.synchronize { @reporter ||= (Reporting::Reporter.new(self) if @config.reports) }
      end

      # @return [Runtime::Backpressure, nil] what is in memory and not done; nil before the start
      def backpressure = @runtime&.backpressure

      # The block is called, in a thread that must not wait for long, when a group cannot be consumed any more: see {#failure}. Several
      # blocks are called in turn; an `error.occurred` event reports what one of them raises.
      def on_failure(&block)
        @on_failure += [block]
      end

      # What a command to stop asks, from a thread that must not wait: see {#ask_to_stop}.
      # @!visibility private
      def on_stop_asked(&block)
        @stopper = block
      end

      # Stops in order, as after a signal: the process where a {Server} runs it, else the application alone. In one of the application's
      # threads it does not wait.
      # @!visibility private
      def ask_to_stop = @stopper ? @stopper.call : stop

      # The block is asked for the class of a consumer before each of its calls: where code is reloaded, the class that the route
      # has is an old one. A consumer of another class is replaced, and its `shutdown` is called.
      # @yieldparam klass [Class] the route's
      def reload_consumers(&block)
        @reloading = block
      end

      # Registers a check of settings that are allowed, and yet will not do in this process: fewer connections to a database than threads
      # that need one, say. The block is asked at each start, and by `guildhall routes`. What it raises at a start is published as
      # `error.occurred`.
      # @yieldreturn [Array<String>] a line for each: what is wrong, with the numbers, and what to write instead
      def advise(&block)
        @advisers += [block]
      end

      # As what a block of {#advise} answers, but told now, and once. Any thread.
      # @!visibility private
      def advise_once(message)
        return if @lock.synchronize { @advised.include?(message).tap { @advised += [message] } }

        tell_advice(message)
      end

      # @return [Array<String>] what the blocks of {#advise} answer
      def advice = @advisers.flat_map(&:call)

      # The application's producer, made when it is first asked for (after a fork, again); closed by {#stop}, or at the end
      # of the process. Payloads other than Strings are encoded as the topic's route says.
      # @raise [ConfigurationError] listing every error of the settings
      def producer
        SignalTrap.refuse!
        @producers.producer do
          open_log
          measure
          stop_at_exit
        end
      end

      # Sends commands to running processes, of this application or of others at its cluster, which have to allow them
      # ({Config#commands}). Connects when one is sent.
      # @param private_key [String, nil] that belongs to their public one; nil: what is sent is not signed
      # @param topic, reports [String, nil] the topics of commands and of reports; nil: those of the settings
      # @return [Commanding::Commander]
      # @raise [Guildhall::ArgumentError] where it is no key
      # @raise [ConfigurationError] listing every error of the settings
      def commander(private_key:, topic: nil, reports: nil)
        SignalTrap.refuse!
        @config.validate!
        open_log
        require_relative "commanding/commander" # OpenSSL is loaded only where it is wanted
        topic ||= @config.commands_topic || Commanding::TOPIC
        Commanding::Commander.new(Producing::Settings.of(@config), private_key:, topic:, reports: reports || @config.reports_topic)
      end

      # What follows is for the framework.
      # @!visibility private
      # @return [Array<#call>] what becomes of each message before it is sent
      def producer_steps = @producers.steps

      # @return [Integer, nil] worker Ractors of the application's own pool; nil: as many as pay off
      attr_accessor :workers

      # @return [Hash{Symbol=>Object}, nil] where a {Server} runs the application, and the process does nothing else: what its memory is,
      #   for {Runtime::FullCollections::Memory}; nil: others do, and settings of Ruby that are the process's are not ours to change
      attr_accessor :own_process

      def_delegators :@log, :format_line
      def_delegator :@log, :target, :log_target
      def_delegators :@producers, :abandon
      def_delegator :@producers, :transactional, :transactional_producer
      def_delegator :@producers, :patient, :patient_producer
      def_delegator :@producers, :queue_size, :producer_queue
      def_delegators :@instrumentation, :publish, :listening?
      def_delegator :@clients, :settings, :client_settings
      def_delegators :@clients, :fall_back, :ask_again?
      def_delegator :@clients, :together, :topics_by_client

      def runners = @runtime&.runners
      def timer = @runtime&.timer
      def members = @runtime&.members || []
      def listeners = @runtime&.listeners || []
      def registries = @runtime&.registries
      def outbox = @runtime&.outbox

      # @return [Boolean] whether a start was begun, and no stop since
      def started? = %i[starting running].include?(@state)

      # Passes on what metrics have counted until now.
      def flush_metrics = @collector&.flush

      def failed = @on_failure.each { |block| ErrorBoundary.run(->(raised) { error(raised, "on_failure") }) { block.call } }
      def consumer_class(declared) = @reloading ? @reloading.call(declared) : declared

      # @return [Integer, nil] in a process of a {Swarm}, from 1
      def process_number = @clients.process_number

      # In a process of a {Swarm}, before the start.
      def process_number=(number)
        @clients.process_number = number
        @log.label = "process #{number}"
      end

      # @return [Boolean] whether it is this process that says what is true of all processes of a swarm, which have the same settings and
      #   routes
      def first_process? = @clients.process_number.to_i <= 1

      # So that events are logged before the start.
      def open_log = @log.open(@instrumentation)

      # @return [Guildhall::Pool] made when it is first needed
      def pool = @config.pool || @lock.synchronize { @own_pool ||= Pool.new(workers: @workers, logger: log_target) }

      # @return [Guildhall::Pool, nil] nil: none has been needed yet
      def pool_in_use = @config.pool || @own_pool

      def error(error, type, **payload)
        publish("error.occurred", error:, message: Redaction.message(error, messages: @config.messages_of_errors?), type:, **payload)
      end

      private

      # What needs locks is reached through these.
      def runtime = SignalTrap.refuse! || @runtime
      def queries = SignalTrap.refuse! || @queries
      def tasks = SignalTrap.refuse! || @tasks

      def new_runtime(topics) = Runtime.new(self, topics, @routed, **@numbers)

      # The only writer of the state.
      # @param states [Array<Symbol>] in which it may change
      # @yield with the lock held, before it changes
      # @return [Boolean] false: it is in another state, which stays
      def become(state, *states)
        @lock.synchronize do
          next false unless states.include?(@state)

          yield if block_given?
          @state = state
          @changed.broadcast
          true
        end
      end

      def begin_start
        begun = become(:starting, :initialized, :stopped) do
          @runtime = nil
          @clean = true
          @changing = Thread.current
        end
        raise ApplicationStateError, "this application is #{@state}: stop it before it is started again" unless begun
      end

      # Nothing of what was begun is left where something raises, or a stop comes meanwhile: it can be started again.
      # @return [Array<Routing::Topic>, nil] those that are consumed; nil: a stop has come
      def launch_or_undo(selection)
        launched = false
        topics = launch(selection)
        launched = become(:running, :starting) { @changing = nil }
        topics if launched
      ensure
        undo_launch unless launched
      end

      def launch(selection)
        topics = Routing::RouteSelection.new(**selection).choose(@routed = validate!, none: @config.outbox)
        @config.freeze unless @config.frozen?
        open_log
        measure
        ask_advisers if first_process?
        stop_at_exit
        @runtime = new_runtime(topics)
        reporter&.start(@runtime)
        @runtime.launch
        topics
      end

      def undo_launch
        @runtime&.stop(Clock.now + UNDO_SECONDS)
        close_own_pool(1)
      ensure
        @reporter&.finish
        @runtime = @changing = nil
        become(:initialized, :starting) || become(:stopped, :stopping)
      end

      # Starts the metrics, the first time: with two collectors each figure would count double.
      def measure
        backends = [*@config.metrics, *reporter&.minutes]
        all = @config.metrics.any?
        @lock.synchronize do
          next if @collector || backends.empty?

          require_relative "metrics/collector"
          @collector = Metrics::Collector.new(self, backends, distributions: all)
          @collector.attach(all ? Events::NAMES : Reporting::Minutes::EVENTS)
        end
      end

      def ask_advisers
        @advisers.each do |adviser|
          messages = ErrorBoundary.run(->(raised) { error(raised, "advise") }) { adviser.call }
          [*messages].each { |message| tell_advice(message) }
        end
      end

      def tell_advice(message) = publish("app.advised", message:, about: :settings, group: nil, topic: nil)

      # A stop waits for these threads, and may not be waited for by them: the one that starts or stops, the run's, the producer's.
      def own?(thread)
        thread.equal?(@changing) || @runtime&.include?(thread) || Producing::Client.calls_back?(thread)
      end

      # A script that ends, or raises, without a stop: librdkafka's threads must not call into a Ruby that is gone.
      def stop_at_exit
        owner = Process.pid
        return if @lock.synchronize { (@at_exit == owner).tap { @at_exit = owner } }

        at_exit { stop(timeout: EXIT_TIMEOUT_SECONDS) if (started? || @producers.open?) && Process.pid == owner }
      end

      # @param at_rest [Boolean] whether it is left to an application that has been started meanwhile
      def close_own_pool(timeout, at_rest: false)
        pool = @lock.synchronize { @own_pool.tap { @own_pool = nil } if stopped? || !at_rest }
        pool&.shutdown(timeout:)
      end

      # In a thread of its own, so that an interruption of the waiting thread does not interrupt the stop.
      def stop_by(deadline)
        return stop_running(deadline) if become(:stopping, :running) { @changing = Thread.current }

        become(:stopping, :starting) # {#start} notices it, and ends what it has begun
        return false unless wait_stopped(Clock.left(deadline))

        close_own_pool(Clock.left(deadline, least: 1), at_rest: true)
        @producers.close(deadline) && @clean
      end

      # @return [Boolean] whether all of it was finished in time
      def stop_running(deadline)
        runtime = @runtime # once this one has stopped, a start makes another one
        runtime.announce("app.stopping", deadline, timeout: Clock.left(deadline))
        @clean = false # unless all of this returns
        clean = runtime.stop(deadline)
        clean = @producers.close(deadline) && clean
        close_own_pool(Clock.left(deadline, least: 1))
        @clean = clean
      ensure
        @reporter&.finish
        become(:stopped, :stopping)
        runtime.announce("app.stopped", deadline, unfinished: runtime.unfinished)
      end

      def stopped? = %i[stopped initialized].include?(@state)
    end
  end
end
