# frozen_string_literal: true

require "guildhall/kafka"

module Guildhall
  module Kafka
    module Testing
      # One partition of a topic without a broker: its messages are decoded as the route says, and consumed by the route's consumer in
      # the thread of the test, with retries (almost without pauses), dead letters and marks; where the consumer pauses, it stays so. The
      # consumer's own `produce_sync` and `produce_async` are kept; `Guildhall::Kafka.producer` is the real one.
      #
      #     orders = Guildhall::Kafka::Testing.topic("orders")
      #     orders.deliver({"id" => 7}, "{")
      #     orders.done                            # => 2
      #     orders.dead_letters.map { _1[:payload] } # => ["{"]
      class OfflineTopic
        MAX_PAUSES = 200 # for one delivery: a message that is retried for ever would keep the test from ending
        PAUSE_SECONDS = 0.0005 # between two attempts
        KEYWORDS = %i[key headers timestamp].freeze
        private_constant :MAX_PAUSES, :PAUSE_SECONDS, :KEYWORDS

        def initialize(topic, application)
          @topic = topic = topic.with(retries: topic.retries.with(pause_timeout: nil, pause_max_timeout: nil))
          config = application.config.dup
          config.pause_timeout = config.pause_max_timeout = PAUSE_SECONDS
          steps = application.producer_steps
          @runtime = Offline::Runtime.new(topic, application, config:, steps:)
          @serializing = Producing::Serializing.new(-> { [topic] })
          @listener = Offline::Listener.new
          @partition = Partition.new(topic, topic.name, 0, @listener, @runtime)
          @partition.begin
          @next_offset = 0
        end

        # Delivers a batch, and lets it be consumed. Blocks until nothing is left to do.
        # @param payloads [Array<Object>] a String is taken as the bytes, nil as a tombstone; anything else is encoded as the route says
        # @param key [String, nil] of all of them
        # @param headers [Hash{String=>String}] of all of them
        # @param timestamp [Time] of all of them
        # @raise [Guildhall::Error] if a message is retried for ever: without a dead letter queue, a failing one is
        # @raise [Guildhall::ArgumentError] for another keyword
        def deliver(*payloads, key: nil, headers: {}, timestamp: Time.now, **others)
          if (keyword = others.keys.first)
            raise Guildhall::ArgumentError, "#{OptionRules.unknown("keyword #{keyword}", keyword, KEYWORDS)}; a payload that is a Hash " \
                                            "needs braces: deliver({\"id\" => 7})"
          end
          records = payloads.map { |payload| record(payload, key, headers, timestamp) }
          @partition.deliver(records, Offline::Record.bytes(records))
          work
        end

        # Calls the consumer's `tick`.
        def tick
          @partition.notify(:tick)
          work
        end

        # Runs the blocks of the consumer's `every`, each once.
        def every
          @topic.consumer.periods.each_index { |index| @partition.notify([:periodic, index]) }
          work
        end

        # Stops as the process does, or as a rebalance: the consumer's `shutdown` or `revoked` is called.
        # @param reason [Symbol] :shutdown or :revoked
        def leave(reason = :shutdown)
          @partition.leave(reason)
          work
        end

        # @return [Integer] offset of the first message that is not done, which would be committed; messages count from 0
        def done
          @partition.store
          @listener.client.stored.last || 0
        end

        # @return [Array<Hash>] what went to the dead letter topic: topic:, payload:, key:, headers:
        def dead_letters = @runtime.producer.dead_letters

        # @return [Array<Hash>] what the consumer has produced: topic:, payload: …
        def produced = @runtime.producer.produced

        # @return [Array<Exception>] what was reported, each attempt for itself
        def errors = @runtime.errors

        private

        def record(payload, key, headers, timestamp)
          raw = @serializing.call({topic: @topic.name, payload:})[:payload]
          offset = @next_offset
          @next_offset += 1
          Ractor.make_shareable(Offline::Record.new(topic: @topic.name, partition: 0, offset:, timestamp:, key:, raw_payload: raw&.dup,
            headers: headers.to_h { |name, value| [name.to_s, value] }))
        end

        def work
          MAX_PAUSES.times do
            nil while step
            return self unless @runtime.timer.pass
          end
          error = errors.last
          advice = error && Redaction.advice(error)
          raise TaskError, ["#{@topic} is retried for ever: #{error&.full_message(highlight: false)}", *advice].join("\n")
        end

        def step
          job = @listener.requests.shift || @runtime.runners.jobs.shift or return false
          job.respond_to?(:run) ? job.run : job.call
          true
        end
      end

      # Stands for threads and a broker behind {OfflineTopic}: nothing happens before the test lets it.
      module Offline
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
          private_constant :LONGEST_SECONDS

          # @param longest [Numeric] seconds; what is due later does not come
          def initialize(longest: LONGEST_SECONDS)
            @longest = longest
            @entries = []
          end

          def after(seconds, &block) = [Clock.now + seconds, block].tap { |entry| @entries << entry }
          def cancel(entry) = @entries.delete_if { |other| other.equal?(entry) }

          # @return [Boolean, nil] whether anything was due soon
          def pass
            entry = @entries.min_by(&:first) or return
            wait = entry.first - Clock.now
            return if wait > @longest

            sleep([wait, 0].max)
            cancel(entry)
            entry.last.call
            true
          end
        end

        # Takes messages as {Kafka::Producer} does, and keeps them.
        class Producer
          # A message that was delivered, and where.
          class Delivery < Producing::Delivery::Report
            def wait(**) = self
            def await(*) = self
            def pending? = false
            def error = nil
          end
          private_constant :Delivery

          # @return [Array<Hash>] messages of consumers
          attr_reader :produced
          # @return [Array<Hash>] messages that went to a dead letter topic
          attr_reader :dead_letters

          # @param steps [Array<#call>] what becomes of each message before it is sent
          def initialize(steps)
            @middleware = Kafka::Producer::Middleware.new(steps)
            @produced = []
            @dead_letters = []
          end

          attr_reader :middleware

          def wait_seconds = 60
          # Dead letters come here: see {DeadLetterQueue::Dispatcher}.
          def start(message) = keep(message, @dead_letters)
          # @raise [Guildhall::ArgumentError] for what is no message
          def produce_async(message) = keep(@middleware.run(message), @produced)
          def produce_many_async(messages) = messages.map { |message| produce_async(message) }
          alias produce_sync produce_async
          alias produce_many_sync produce_many_async

          private

          def keep(message, list)
            Producing::Sender.check!(message)
            list << message
            Delivery.new(topic: message[:topic].to_s, partition: 0, offset: list.size - 1)
          end
        end

        # Keeps what is produced in a transaction until that is committed; then `producer` has it.
        class TransactionalProducer < Producer
          def initialize(steps, producer)
            super(steps)
            @committed = producer.produced
          end

          def open = self
          def close = nil
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
          def initialize(topic, application, config:, timer: Timer.new, steps: [])
            @application = application
            @config = config
            @decoding = Decoding.new(topic.with(parallel: false)) # payloads are decoded when they are read
            @steps = steps
            @producer = Producer.new(steps)
            @backpressure = Kafka::Runtime::Backpressure.new(config, [topic])
            @runners = Runners.new
            @timer = timer
            @errors = []
            @contention = Kafka::Runtime::Contention.new
            @left_threads = Kafka::Runtime::LeftThreads.new
          end

          def decoding(_topic) = @decoding
          def transactional_producer(_id) = TransactionalProducer.new(@steps, @producer)
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
