# frozen_string_literal: true

require "guildhall/kafka"

module Guildhall
  module Kafka
    module Testing # rubocop:disable Style/Documentation -- in testing.rb
      # One partition of a topic without a broker: its messages are decoded as the route says, and consumed by the route's consumer in
      # the thread of the test, with retries (almost without pauses), retry topics, dead letters and marks; where the consumer pauses, it
      # stays so, until {#travel}. What the consumer, and whatever it calls, produces is kept: `Guildhall::Kafka.producer`, too.
      #
      #     orders = Guildhall::Kafka::Testing.topic("orders")
      #     orders.deliver({"id" => 7}, "{")
      #     orders.done                            # => 2
      #     orders.dead_letters.map { _1[:payload] } # => ["{"]
      class OfflineTopic
        MAX_PAUSES = 200 # for one delivery: a message that is retried for ever would keep the test from ending
        PAUSE_SECONDS = 0.0005 # between two attempts
        ROUNDING_SECONDS = 0.000_001 # of times as Floats: what is due has to be due
        KEYWORDS = %i[key headers timestamp].freeze
        REASONS = %i[shutdown revoked].freeze # of leaving
        private_constant :MAX_PAUSES, :PAUSE_SECONDS, :ROUNDING_SECONDS, :KEYWORDS, :REASONS

        # @return [Array<Array<Integer>>] the offsets that each call of `consume` was called with, of its own topic
        attr_reader :calls
        # @return [Integer] how many messages were delivered
        attr_reader :delivered

        def initialize(topic, application)
          @topic = topic = topic.with(retries: topic.retries.with(pause_timeout: nil, pause_max_timeout: nil))
          @application = application
          config = application.config.dup
          config.pause_timeout = config.pause_max_timeout = PAUSE_SECONDS
          @calls = []
          config.middleware = [method(:note_call), *config.middleware]
          @producer = Offline.producer(application)
          @runtime = Offline::Runtime.new(topic, application, config:, producer: @producer)
          @serializing = Producing::Serializing.new(-> { [topic] })
          retries = topic.retry_topics && !topic.retry_topic? ? topic.retry_topics.routes(topic) : []
          @retry_routes = retries.to_h { |route| [route.name, route] }
          @lanes = {}
          @passed_on = @delivered = 0
          @travelled = 0.0
          @acted = false
          @arrived = {}.compare_by_identity
          lane(topic)
        end

        # Delivers a batch, and lets it be consumed. Blocks until nothing is left to do.
        # @param payloads [Array<Object>] a String is taken as the bytes, nil as a tombstone, a job of Active Job as the message that
        #   `perform_later` sends; a {Message} has a key, headers and time of its own; anything else is encoded as the route says
        # @param key [String, nil] of all others
        # @param headers [Hash{String=>String}] of all others
        # @param timestamp [Time, Integer, nil] of all others; an Integer: milliseconds since 1970; nil: now
        # @raise [Guildhall::Error] if a message is retried for ever: without a dead letter queue, a failing one is
        # @raise [Guildhall::ArgumentError] for another keyword, for what no producer would send, and after {#leave}
        def deliver(*payloads, key: nil, headers: {}, timestamp: nil, **others)
          if (keyword = others.keys.first)
            raise Guildhall::ArgumentError, "#{OptionRules.unknown("keyword #{keyword}", keyword, KEYWORDS)}; a payload that is a Hash " \
                                            "needs braces: deliver({\"id\" => 7})"
          end
          raise Guildhall::ArgumentError, "deliver needs a message; nil is a tombstone" if payloads.empty?
          raise Guildhall::ArgumentError, "#{self} has left: make another one by Testing.topic" if @left

          act do
            messages = payloads.map { |one| one.is_a?(Message) ? one : message(one, key, headers, timestamp) }
            lane(@topic).deliver(messages.map { |one| sendable(one) })
            @delivered += messages.size
          end
        end

        # Lets time pass for this topic, and what is due meanwhile happen, in order: retry topics, `delay`, `throttle`, pauses; what was
        # sent by `produce_later` (a job's `retry_on wait:` does that) to this topic is delivered. `Time.now` is that much later from now on
        # while this topic is at work. Nothing waits.
        # @param seconds [Numeric, ActiveSupport::Duration]
        # @raise [Guildhall::ArgumentError] unless it is a number that is finite and not negative
        def travel(seconds)
          seconds = seconds.to_f if defined?(::ActiveSupport::Duration) && seconds.is_a?(::ActiveSupport::Duration)
          unless seconds.is_a?(Numeric) && seconds.finite? && !seconds.negative?
            raise Guildhall::ArgumentError, "travel takes seconds from 0 on (30, or 5.minutes), not #{seconds.inspect}"
          end

          @target = @travelled + seconds
          act(&:itself)
          while (left = seconds_to_next) && @travelled + left <= @target
            @travelled += [left, 0].max
            act { deliver_due }
          end
          @travelled = [@travelled, @target].max
          act { deliver_due }
        end

        # Calls the consumer's `tick`.
        def tick = act { partition.notify(:tick) }

        # Runs the blocks of the consumer's `every`, each once.
        def every = act { @topic.consumer.periods.each_index { |index| partition.notify([:periodic, index]) } }

        # Stops as the process does, or as a rebalance: the consumer's `shutdown` or `revoked` is called.
        # @param reason [Symbol] :shutdown or :revoked
        # @raise [Guildhall::ArgumentError] for another reason
        def leave(reason = :shutdown)
          unless REASONS.include?(reason)
            raise Guildhall::ArgumentError, "leave takes #{REASONS.map(&:inspect).join(" or ")}, not #{reason.inspect}"
          end

          @left = true
          act { partition.leave(reason) }
        end

        # @return [Integer] offset of the first message that is not done, which would be committed; messages count from 0
        def done = lane(@topic).done

        # @return [Array<Hash>] what went to the dead letter topic: topic:, payload:, key:, headers:
        def dead_letters = sent.select { |letter| letter[:topic] == @topic.dead_letter_topic }

        # @return [Array<Hash>] what went to retry topics, as {#dead_letters}
        def retries = sent.select { |letter| @retry_routes.key?(letter[:topic]) || letter[:topic] == @topic.retry_topics&.next_topic }

        # @return [Array<Hash>] what the consumer has produced: topic:, payload: …; with `at:`, a Time, what `produce_later` holds back
        def produced = @producer.produced + (sent - dead_letters - retries)

        # @return [Array<Exception>] what was reported, each attempt for itself
        def errors = @runtime.errors

        # @return [String] of the topic
        def name = @topic.name

        alias to_s name

        # @!visibility private
        attr_reader :application

        # @!visibility private
        # @return [Boolean] whether anything was asked of it, so that the consumer may have produced something
        def acted? = @acted

        # @!visibility private
        def delivered? = @delivered.positive?

        private

        def partition = lane(@topic).partition
        def lane(topic) = @lanes[topic.name] ||= Offline::Lane.new(topic, @runtime)

        # Retries, dead letters, and what `pipe_to` sends.
        def sent = @producer.dead_letters

        def note_call(call)
          @calls << call.messages.records.map(&:offset) if call.event == :consume && call.name == name
          yield
        end

        def message(payload, key, headers, timestamp)
          return Testing.message(payload, key:, headers:, timestamp:) unless job?(payload)

          job = ActiveJob::QueueAdapter.new.message_of(payload)
          Testing.message(job[:payload], key: key || job[:key], headers: {**job[:headers], **headers}, timestamp:)
        end

        # Where Active Job's base class is not loaded, nothing is a job; asking would load it.
        def job?(payload)
          defined?(::ActiveJob) && !::ActiveJob.autoload?(:Base) && defined?(::ActiveJob::Base) && payload.is_a?(::ActiveJob::Base)
        end

        # @return [Message] with bytes
        # @raise [Guildhall::ArgumentError] for what no producer would send
        def sendable(message)
          made = message.with(payload: @serializing.call({topic: name, payload: message.payload})[:payload])
          made.tap { Producing::Sender.check!({topic: name, **made.to_h}) }
        end

        # Pauses pass at once: time does, for this topic.
        def act
          @acted = true
          within { yield self }
          MAX_PAUSES.times do
            within { nil while step || pass_on }
            left = within { @runtime.timer.seconds_to_next }
            return self if left.nil? || left > Offline::Timer::LONGEST_SECONDS

            @travelled += [left, 0].max + ROUNDING_SECONDS
            within { @runtime.timer.pass }
          end
          raise TaskError, retried_for_ever
        end

        def within(&block) = TimeTravel.by(@travelled) { @application.stand_in(@producer, &block) }

        def retried_for_ever
          error = errors.last
          advice = error && Redaction.advice(error)
          ["#{@topic} is retried for ever: #{error&.full_message(highlight: false)}", *advice].join("\n")
        end

        # @return [Float, nil] until what happens next by itself
        def seconds_to_next
          within { [*waiting.map { |message| message[:at] - Time.now }, *@runtime.timer.seconds_to_next].min }
        end

        def waiting = @producer.produced.select { |message| message[:at] && message[:topic].to_s == name && !@arrived[message] }

        def deliver_due
          due = waiting.select { |message| message[:at] <= Time.now }.sort_by { |message| message[:at] }
          return if due.empty?

          lane(@topic).deliver(due.map { |one| Testing.message(one[:payload], key: one[:key], headers: one[:headers].to_h) })
          due.each { |message| @arrived[message] = true }
          @delivered += due.size
        end

        # @return [Boolean] whether anything has gone to a retry topic
        def pass_on
          later = sent.drop(@passed_on)
          @passed_on = sent.size
          later = later.filter_map { |one| [@retry_routes[one[:topic]], one] if @retry_routes.key?(one[:topic]) }
          later.each do |route, one|
            lane(route).deliver([Testing.message(one[:payload], key: one[:key], headers: one[:headers])])
          end
          later.any?
        end

        def step
          request = @lanes.each_value.lazy.filter_map { |lane| lane.listener.requests.shift }.first
          job = request || @runtime.runners.jobs.shift or return false
          job.respond_to?(:run) ? job.run : job.call
          true
        end
      end

      # Makes it later than it is, for the block's thread: what {OfflineTopic#travel} needs. `Time` and {Clock} are as they were until it is
      # first called.
      module TimeTravel
        KEY = :guildhall_time_travel
        private_constant :KEY

        def self.by(seconds)
          return yield if seconds.zero?

          @installed ||= [::Time, Clock].each { |clock| clock.singleton_class.prepend(self) }
          before = later
          Thread.current.thread_variable_set(KEY, seconds)
          begin
            yield
          ensure
            Thread.current.thread_variable_set(KEY, before)
          end
        end

        def self.later = Thread.current.thread_variable_get(KEY) || 0

        def now(...) = super + TimeTravel.later
      end

      # Replaces an application's producer for the time of a block: in the thread that calls it and those that are made in it, whatever
      # other blocks do at the same time, as where tests run in threads. A thread that was there before gets the block's that began last.
      module StandIn
        KEY = :guildhall_stand_in
        LOCK = Mutex.new

        # A block, and the one in which it was called.
        class Block
          attr_reader :producer, :outer

          def initialize(producer, outer)
            @producer = producer
            @outer = outer
          end

          def within?(other) = equal?(other) || (@outer&.within?(other) || false)
        end
        private_constant :KEY, :LOCK, :Block

        def producer
          running = @stand_ins
          return super if running.nil? || running.empty?

          mine = Fiber[KEY]
          mine = mine.outer until mine.nil? || running.include?(mine)
          running.reverse_each.find { |block| mine.nil? || block.within?(mine) }.producer
        end

        def stand_in(producer)
          before = Fiber[KEY]
          block = Fiber[KEY] = Block.new(producer, before)
          LOCK.synchronize { @stand_ins = [*@stand_ins, block].freeze }
          yield
        ensure
          LOCK.synchronize { @stand_ins = (@stand_ins - [block]).freeze }
          Fiber[KEY] = before
        end
      end
      Application.prepend(StandIn)
      private_constant :TimeTravel, :StandIn

      # Stands for threads and a broker behind {OfflineTopic}: nothing happens before the test lets it.
      # @api private
      module Offline
        # @return [Producer] with the steps and delay topics of an application
        def self.producer(application)
          Producer.new(application.producer_steps, application)
        end

        # One partition, and what was delivered to it.
        class Lane
          attr_reader :partition, :listener

          def initialize(topic, runtime)
            @name = topic.name
            @listener = Listener.new
            @partition = Partition.new(topic, topic.name, 0, @listener, runtime)
            @partition.begin
            @next_offset = 0
          end

          # @param messages [Array<Message>] their payloads are bytes, or nil
          def deliver(messages)
            records = messages.map { |message| record(message) }
            @partition.deliver(records, Record.bytes(records))
          end

          def done
            @partition.store
            @listener.client.stored.last || 0
          end

          private

          def record(message)
            offset = @next_offset
            @next_offset += 1
            Ractor.make_shareable(Record.new(topic: @name, partition: 0, offset:, timestamp: time(message.timestamp),
              key: message.key&.dup, raw_payload: message.payload&.dup,
              headers: message.headers.to_h.to_h { |name, value| [name.to_s, value.is_a?(Array) ? value.map { text(it) } : text(value)] }))
          end

          def time(given) = given.is_a?(Integer) ? Time.at(Rational(given, 1000)) : given || Time.now
          def text(value) = value.is_a?(String) ? value.dup : value&.to_s
        end

        # A message that no broker has sent, with the methods of {Record}.
        Record = Data.define(:topic, :partition, :offset, :timestamp, :key, :raw_payload, :headers) do
          def self.bytes(records) = records.sum(&:size)

          def self.with_header(records, name, limit) = records.select { |record| record.headers.key?(name) }.first(limit)

          def size = raw_payload.to_s.bytesize
          def tombstone? = raw_payload.nil?
          def deferred? = !tombstone?
          def decode_error = nil
          def timestamp_ms = timestamp && (timestamp.to_r * 1000).to_i
        end

        # Keeps what is stored, and has nothing to read from.
        class Client
          attr_reader :stored

          def initialize = @stored = []
          def store(_topic, _partition, offset, _metadata = nil) = !!(@stored << offset)
          def commit(**) = true
          def commit_to(*) = nil
          def renew_metadata(*) = nil
          def forget_metadata(*) = nil
          def committed(*) = [nil, nil]
          def end_offset(*) = nil
          def position(*) = nil
          def resolve(_topic, _partition, where) = where
          def seek(*) = nil
          def group_metadata = self
        end

        # Its requests wait until the test runs them.
        class Listener
          attr_reader :client, :requests

          def initialize(client = Client.new)
            @client = client
            @requests = []
          end

          def request(&block) = @requests << block
          def number = 1

          def answers = self
          def from?(*) = true
          def of(*) = nil
        end

        # Its jobs wait until the test runs them.
        class Runners
          attr_reader :jobs

          def initialize = @jobs = []
          def push(job, **) = @jobs << job
          def hurry(_job) = nil
        end

        # Time passes when nothing else is to be done, but not for long.
        class Timer
          LONGEST_SECONDS = 0.05

          # @param longest [Numeric] seconds; what is due later does not come
          def initialize(longest: LONGEST_SECONDS)
            @longest = longest
            @entries = []
          end

          def after(seconds, &block) = [Clock.now + seconds, block].tap { |entry| @entries << entry }
          def cancel(entry) = @entries.delete_if { |other| other.equal?(entry) }

          # @return [Float, nil] until the next is due
          def seconds_to_next = @entries.map(&:first).min&.-(Clock.now)

          # @return [Boolean, nil] whether anything was due soon
          def pass
            entry = @entries.min_by(&:first) or return
            wait = entry.first - Clock.now
            return if wait > @longest

            sleep(wait) if wait.positive?
            cancel(entry)
            entry.last.call
            true
          end
        end

        # A producer that keeps what it takes.
        class Producer < Kafka::Producer
          # A message that was delivered, and where.
          class Delivery < Producing::Delivery::Report
            def wait(**) = self
            def await(*) = self
            def pending? = false
            def error = nil
          end
          # Has headers, for {Delaying::DelayHeaders}.
          Headers = Data.define(:raw_headers)
          private_constant :Delivery, :Headers

          # @return [Array<Hash>] what was produced; with `at:`, a Time, what `produce_later` holds back
          attr_reader :produced
          # @return [Array<Hash>] what the framework has sent: dead letters, retries, what `pipe_to` sends
          attr_reader :dead_letters

          # @!visibility private
          attr_reader :application

          # @param steps [Array<#call>] what becomes of each message before it is sent
          # @param application [Application, nil] whose delay topics `produce_later` uses
          def initialize(steps, application = nil)
            super({}, steps:)
            @application = application
            @delay_topics = -> { application&.routes&.delay_topics }
            @produced = []
            @dead_letters = []
          end

          def wait_seconds = 60
          def start(message, _seconds = 0) = keep(message, @dead_letters)
          def partition_count(_topic) = 1
          def close(*) = true

          # What it has produced is forgotten where the block raises.
          def transaction
            before = @produced.size
            yield self
          rescue Exception # rubocop:disable Lint/RescueException -- as the real one
            @produced.slice!(before..)
            raise
          end

          protected

          # @raise [Guildhall::ArgumentError] for what is no message
          def send_all(messages, _sync)
            kept = messages.map { |message| keep(message, @produced) }
            yield(kept.size) if block_given?
            kept
          end

          private

          def partitioned(message) = message

          def keep(message, list)
            checked(message)
            list << as_given(message)
            Delivery.new(topic: message[:topic].to_s, partition: 0, offset: list.size - 1)
          end

          # Not as it waits in a delay topic.
          def as_given(message)
            waiting = Headers.new(message[:headers].to_h)
            due = Delaying::DelayHeaders.due(waiting) or return message

            {**message, **Delaying::DelayHeaders.target(waiting).compact, headers: Delaying::DelayHeaders.without(waiting), at: Time.at(due)}
          end
        end

        # Keeps what is produced in a transaction until that is committed; then `producer` has it.
        class TransactionalProducer < Producer
          def initialize(steps, producer)
            super(steps, producer.application)
            @committed = producer.produced
          end

          def open = self
          def close(*) = nil
          def timeout = 60
          def partition_count(_topic) = 1
          def begin_transaction = produced.clear
          def failure(_error) = nil
          def targets = []

          def send_offset(topic, partition)
            @offset = [yield, topic, partition.partition, partition.offset, partition.metadata]
          end

          def commit_transaction
            @committed.concat(produced)
            client, *place = @offset
            client&.store(*place)
            abort_transaction
          end

          def abort_transaction
            @offset = nil
            produced.clear
          end

          def dropped? = false
        end

        # Stands for a {Kafka::Runtime} of one partition, without threads and brokers; keeps the errors that are reported.
        class Runtime
          attr_reader :config, :application, :producer, :backpressure, :runners, :timer, :contention, :left_threads, :errors

          # @param application [#instrumentation, #consumer_class] whose subscribers see what happens
          def initialize(topic, application, config:, timer: Timer.new, producer: Producer.new([]))
            @application = application
            @config = config
            @decoding = Decoding.new(topic.with(parallel: false)) # payloads are decoded when they are read
            @producer = producer
            @backpressure = Kafka::Runtime::Backpressure.new(config, [topic])
            @runners = Runners.new
            @timer = timer
            @errors = []
            @contention = Kafka::Runtime::Contention.new
            @left_threads = Kafka::Runtime::LeftThreads.new
          end

          def decoding(_topic) = @decoding
          def transactional_producer(_id) = TransactionalProducer.new(@application.producer_steps, @producer)
          def in_background = yield
          def abandon(_handle) = nil
          def consumer_class(declared) = @application.consumer_class(declared)
          def quiet? = false
          def instrumentation = @application.instrumentation
          def listening?(name) = instrumentation.listening?(name)
          def publish(name, **payload) = instrumentation.publish(name, **payload)

          def error(error, type, **payload)
            @errors << error
            publish("error.occurred", error:, message: Redaction.message(error, messages: config.messages_of_errors?), type:, **payload)
          end
        end
      end
    end
  end
end
