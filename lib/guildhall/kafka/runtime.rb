# frozen_string_literal: true

require "forwardable"
require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "broker/target_check"
require_relative "group/members"
require_relative "reachability"
require_relative "decoding"
require_relative "outbox_check"
require_relative "runtime/backpressure"
require_relative "runtime/contention"
require_relative "runtime/full_collections"
require_relative "runtime/left_threads"
require_relative "runtime/runners"
require_relative "runtime/timer"
require_relative "runtime/watchdog"

module Guildhall
  module Kafka
    # One run of an application: the members of its groups, the threads that run consumers, the timer, and what the run has come to.
    # {Application#start} makes it; after {Application#stop} nothing of it goes on, and the next start makes another one.
    #
    # Listeners and partitions work with their run, not with the application (which a consumer may ask for). A partition asks it for
    # {#config}, {#runners}, {#timer}, {#backpressure}, {#contention}, {#left_threads}, {#decoding}, {#consumer_class}, the producers,
    # {#in_background} and {#quiet?}, and tells it what happens. `Testing::Offline::Runtime` does the same without threads and brokers.
    class Runtime
      extend Forwardable

      # Between two calls of `tick`; a consumer that wants another time declares it with `every`.
      TICK_SECONDS = 5
      # Between two events `lag.measured`. No broker is asked, and monitoring systems look every ten seconds at most.
      LAG_SECONDS = 5
      CHECK_AFTER_SECONDS = 2 # after the start, until topics that messages are sent on to are looked at
      # Between two times that marks of dead letters are written again: brokers keep them for a week, or (before Kafka 2.0) a day.
      RENEW_SECONDS = 43_200
      RENEW_FIRST_SECONDS = 600 # after the start, for processes that do not live that long
      private_constant :TICK_SECONDS, :LAG_SECONDS, :CHECK_AFTER_SECONDS, :RENEW_SECONDS, :RENEW_FIRST_SECONDS

      attr_reader :application, :members, :outbox, :runners, :timer, :backpressure, :contention, :registries, :left_threads
      # @return [Time] when it was made
      attr_reader :started_at
      # @return [Hash{Routing::Topic=>Decoding}] of all topics that are consumed, once they are
      attr_reader :decodings
      # @return [FatalError, nil] why a group is not consumed any more, although it was not stopped; other groups continue
      attr_reader :failure
      # @return [Array<String>] partitions ("orders/0") whose work was not finished within the time of {#stop}
      attr_reader :unfinished
      # @return [FullCollections, nil] nil: Ruby decides when it collects
      attr_reader :full_collections

      def_delegators :@application, :config, :publish, :listening?, :error, :producer, :transactional_producer, :abandon,
        :consumer_class, :client_settings, :fall_back, :ask_again?, :reachability

      # @param routed [Array<Routing::Topic>] all that are routed
      def initialize(application, topics, routed, tick_interval: TICK_SECONDS, lag_interval: LAG_SECONDS,
                     stall_timeout: Watchdog::STALL_SECONDS, renew_interval: RENEW_SECONDS, max_messages_in_flight: nil)
        @application = application
        @tick_interval = tick_interval
        @lag_interval = lag_interval
        @renew_interval = renew_interval
        @topics = topics
        @routed = routed
        @lock = Mutex.new
        @members = []
        @background = []
        @unfinished = []
        @overlaps = Set.new
        @backpressure = Backpressure.new(config, topics, max_messages: max_messages_in_flight) { listeners.each(&:wake) }
        @contention = Contention.new
        @left_threads = LeftThreads.new
        @watchdog = Watchdog.new(self, stall_timeout:)
        @registries = Reachability::Registries.new(topics) { |name, **payload| publish(name, **payload) }
        @quiet = @stopping = false
        @failure = @timer = @runners = @commands = @outbox = @full_collections = nil
        @decodings = {}.freeze
        @started_at = Time.now
      end

      # @param runners [Runners, nil] nil: nothing is consumed, this only checks whether the workers can do what the routes want of them
      # @return [Hash{Routing::Topic=>Decoding}] how the payloads of topics are decoded
      # @raise [ConfigurationError] listing every route whose workers cannot
      def self.decodings(application, topics, runners = nil)
        problems = Config::Problems.new
        made = topics.to_h do |topic|
          report = ->(raised) { application.error(raised, "prepare", topic: topic.name) }
          [topic, Decoding.new(topic, runners, report:) { application.pool }]
        rescue ConfigurationError => error
          [topic, problems.add(error.message)]
        end
        problems.raise!
        made.freeze
      end

      # Starts all threads. Where something raises, or a stop comes meanwhile, {#stop} ends those that were started.
      def launch
        @timer = Timer.new { |raised| error(raised, "timer") }
        @runners = Runners.new(config.concurrency, logger: @application.log_target) { |raised| error(raised, "runner") }
        @decodings = Runtime.decodings(@application, @topics, @runners)
        advise_of_decoding if @application.first_process?
        return unless @application.started? # a stop has come: the group need not be joined

        @members = create_members
        @members.each(&:start)
        begin_timing
        defer_full_collections if config.garbage_collection == :deferred
        take_commands if config.commands
        @outbox = Outbox::Relay.new(@application).start if config.outbox
        check_soon if @application.first_process?
      end

      # Finishes the work in progress, commits, leaves the groups. Blocks. The listeners get most of the time: what is left of it is for
      # closing.
      # @return [Boolean] whether all work in progress was finished, and the brokers have answered
      def stop(deadline)
        @stopping = true
        @full_collections&.stop
        @commands&.stop
        @outbox&.stop(deadline)
        @members.each { |members| members.stop(deadline - 1) }
        ended = @members.map { |members| members.join(deadline) }
        ended += [@timer, @runners, @outbox].compact.map { |one| one.close(deadline) }
        @commands&.close(deadline)
        [*ended, wait_background(deadline)].all?
      end

      # Publishes an event of the stop in a thread of its own. A subscriber that ends its thread does not end the stop. One that hangs
      # holds it up for half of the time that is left: the other half is for the work in progress.
      def announce(name, deadline, **payload)
        seconds = Clock.left(deadline, least: 1.0) / 2
        return if in_background { publish(name, **payload) }.join(seconds)

        late = Guildhall::TimeoutError.new("a subscriber of #{name} has not returned within #{seconds.round(1)} s: the application is " \
                                           "stopped without waiting for it")
        in_background { error(late, "stop") }
      end

      # @return [Boolean] whether it is one of this run's threads, that {#stop} waits for
      def include?(thread)
        ours = [@runners, @timer, @commands, @outbox, @full_collections, *listeners].compact
        ours.any? { |one| one.include?(thread) } || background.include?(thread)
      end

      def listeners = @members.flat_map(&:listeners)
      def partitions = listeners.flat_map(&:partitions)
      def decoding(topic) = @decodings.fetch(topic)

      # Starts no new work until {#resume}; what is in work is finished, and the membership in the groups goes on.
      def quiet = switch_quiet(true, "app.quiet")

      # Takes {#quiet} back.
      def resume = switch_quiet(false, "app.resumed")
      def quiet? = @quiet

      # Runs a block that waits for a broker, or may hang, and must not hold up the caller, in a thread of its own; {#stop} waits for it.
      def in_background(&)
        @lock.synchronize do # until it is known that the thread is one of ours, {#include?} waits
          thread = Thread.new { ErrorBoundary.contain(->(raised) { error(raised, "background") }, &) }
          thread.name = "guildhall background"
          thread.report_on_exception = false
          @background = [*@background.select(&:alive?), thread]
          thread
        end
      end

      # A group cannot be consumed any more.
      def failed(error, **payload)
        @failure ||= error
        error(error, "fatal", **payload)
      ensure # also if a subscriber ends the thread
        @application.failed
      end

      # A partition was given up, and its work goes on.
      def abandoned(partition)
        @unfinished |= [partition.to_s] if @stopping
        partition.reports.publish("partition.abandoned")
      end

      # Several routes of a group take the same topic: that is reported once.
      def report_overlap(routes, name)
        chosen, *others = routes.candidates(name)
        return if others.empty? || !@lock.synchronize { @overlaps.add?([routes.group, name]) }

        publish("routes.overlapping", group: routes.group, topic: name, chosen: chosen.to_s, others: others.map(&:to_s))
      end

      private

      def switch_quiet(quiet, event)
        return unless @lock.synchronize { (@quiet != quiet).tap { @quiet = quiet } }

        begin
          publish(event)
        ensure # also if a subscriber ends the thread
          partitions.each(&:follow_quiet)
        end
      end

      # The collector belongs to the whole process.
      def defer_full_collections
        memory = @application.own_process
        reason = FullCollections.refusal || ("the process is not Guildhall's own, as with `guildhall server`" unless memory)
        if reason
          return unless @application.first_process?

          message = "config.garbage_collection = :deferred has no effect: #{reason}"
          return advise(:settings, message, group: nil, topic: nil)
        end

        @full_collections = FullCollections.new(self, memory: FullCollections::Memory.new(**memory)) { @runners.busy.zero? }.start
      end

      # OpenSSL, which checks their signatures, is loaded only where they are wanted.
      def take_commands
        require_relative "commanding/receiver"
        @commands = Commanding::Receiver.new(@application).start
      end

      def background = @lock.synchronize { @background }
      def wait_background(deadline) = background.map { |thread| thread.join(Clock.left(deadline)) }.all?

      def advise_of_decoding
        @decodings.each do |topic, decoding|
          next unless decoding.refused?

          advise(:deserializing, "topic #{topic}: workers cannot run its pipeline, the consumer's thread runs the pipeline " \
                                 "instead: #{decoding.reason}", group: topic.group, topic: topic.to_s)
        end
      end

      def advise(about, message, group:, topic:) = publish("app.advised", message:, about:, group:, topic:)

      def create_members
        @application.topics_by_client(@topics).group_by { |together| together.first.group }.flat_map do |group, list|
          routes = Routing::GroupRoutes.new(list.flatten, @routed.select { |topic| topic.group == group && topic.consumed? })
          routes.names.each { |name| report_overlap(routes, name) }
          list.each_with_index.map do |together, index|
            Group::Members.new(together, self, routes:, before: index * together.first.multiplexing.maximum)
          end
        end
      end

      def begin_timing
        @timer.every(config.commit_interval) { listeners.each(&:commit_soon) }
        @timer.every(@tick_interval) { partitions.each { |partition| partition.notify(:tick) if partition.ticks? } }
        @timer.every(@lag_interval) { measure_lag }
        @timer.every(@watchdog.interval) { @watchdog.check }
        @timer.every(Reachability::Registries::CHECK_SECONDS) { @registries.check } if @registries.any?
        @timer.after([RENEW_FIRST_SECONDS, @renew_interval].min) do
          renew_marks
          @timer.every(@renew_interval) { renew_marks }
        end
        @topics.map(&:consumer).uniq.each { |consumer| begin_periods(consumer) }
      end

      # Of the processes of a group, the one that has the first partition does it.
      def renew_marks
        routes = partitions.select { |partition| partition.number.zero? }.map(&:topic)
        routes.filter_map(&:dead_letter_topic).uniq.each do |name|
          in_background do
            ErrorBoundary.run(->(raised) { error(raised, "dead_letter_marks", topic: name) }) do
              @application.dead_letters(name, &:renew)
            rescue UnknownTopicError
              nil # nothing has died yet
            end
          end
        end
      end

      def measure_lag
        partitions, unknown = @members.map(&:measure_lag).transpose.map { |lists| lists.flatten(1) }
        publish("lag.measured", partitions:, unknown:) if listening?("lag.measured")
      end

      # Not at once: missing topics are still being created, and a process that runs briefly needs no check.
      def check_soon
        @timer.after(CHECK_AFTER_SECONDS) do
          [method(:check_targets), method(:check_outbox)].each do |check|
            in_background { ErrorBoundary.run(->(raised) { error(raised, "advise") }, &check) }
          end
        end
      end

      def check_outbox
        OutboxCheck.problems(config)&.each { |problem| advise(:settings, problem.to_s, group: nil, topic: nil) }
      end

      def check_targets
        Broker::TargetCheck.new(@topics, config) { @stopping }.run do |topic, group, problem|
          advise(:topics, problem, group:, topic:)
        end
      end

      def begin_periods(consumer)
        consumer.periods.each_with_index do |period, index|
          @timer.every(period.seconds) do
            partitions.each { |partition| partition.notify([:periodic, index]) if partition.topic.consumer.equal?(consumer) }
          end
        end
      end
    end
  end
end
