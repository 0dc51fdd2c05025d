# frozen_string_literal: true

require "guildhall/pipeline"
require_relative "block"
require_relative "checks"
require_relative "filter_settings"
require_relative "multiplexing"
require_relative "topic"

module Guildhall
  module Kafka
    module Routing
      # The block of `topic "name" do … end`: each method is a setting. What is wrong is noted, not raised, so that
      # all errors are reported together.
      class TopicBuilder
        include Block
        include FilterSettings

        SETTINGS = (%i[consumer deserializer deserializers deserializing serializer max_messages max_bytes initial_offset
                       manual_offset_management delivery transactional assign dead_letter_queue virtual_partitions ordering retries
                       retry_topics kafka] +
                    FilterSettings.instance_methods(false)).freeze
        # Where a setting with wrong arguments is ours.
        OWN_FILES = [__FILE__, FilterSettings::FILE].freeze
        # Where the route does not say what a key is.
        BY_KEY = VirtualPartitions.new(partitioner: :raw_key.to_proc, max: nil, reducer: nil)
        private_constant :OWN_FILES, :BY_KEY

        def initialize(name, group, errors)
          @name = name.is_a?(Symbol) ? name.to_s : name
          @errors = errors
          @incomplete = false
          @settings = {
            group:, consumer: nil, deserializer: nil, key_deserializer: nil, headers_deserializer: nil, serializer: nil,
            parallel: nil, lazy: nil, max_messages: nil, max_bytes: nil, initial_offset: nil, manual_offset_management: false,
            delivery: :at_least_once, transactional: false, assigned: nil, dead_letter_queue: nil, virtual_partitions: nil,
            ordering: nil, kafka: {}.freeze, excluded: [].freeze, filters: [].freeze, retry_topics: nil, delay_tiers: nil,
            scheduled_tasks: nil, retries: Retries.new, multiplexing: Multiplexing::NONE
          }
        end

        # @param klass [Class] a subclass of {Consumer}; one instance handles one partition
        def consumer(klass)
          @settings[:consumer] = klass
        end

        # @param callable [#call] takes the payload's bytes (and the message's metadata, where it takes two arguments):
        #   a codec, a pipeline, or any other object; shareable where it is to run on the workers. Without one, the
        #   payload is the bytes themselves
        def deserializer(callable)
          @settings[:deserializer] = callable
        end

        # @param payload [#call, nil] as in {#deserializer}
        # @param key [#call, nil] takes the key's bytes
        # @param headers [#call, nil] takes the Hash of headers
        def deserializers(payload: nil, key: nil, headers: nil, **unknown)
          refuse(__method__, unknown)
          @settings[:deserializer] = payload if payload
          @settings[:key_deserializer] = key
          @settings[:headers_deserializer] = headers
        end

        # @param encoder [#encode, #call] makes bytes of an object that is produced to this topic: a codec, or any object
        #   that is called with it. Without one, the deserializer's codec does, where it can encode. A topic with a
        #   serializer and no consumer is one that is only produced to
        def serializer(encoder)
          @settings[:serializer] = encoder
        end

        # @param parallel [Boolean, nil] true: payloads are decoded on the workers; false: never there: by the reader where the
        #   codec has a native decoder, else in the thread that asks for them; nil: where it is faster
        # @param lazy [Symbol, nil] :on_access: each payload is decoded when it is asked for, and not before: for payloads
        #   that are rarely read
        def deserializing(parallel: nil, lazy: nil, **unknown)
          refuse(__method__, unknown)
          @settings[:parallel] = parallel
          @settings[:lazy] = lazy
        end

        # @param count [Integer] a batch has at most that many messages
        def max_messages(count)
          @settings[:max_messages] = count
        end

        # @param count [Integer] a batch has about that many bytes at most, but one message in any case
        def max_bytes(count)
          @settings[:max_bytes] = count
        end

        # @param where [String, Symbol] "earliest" or "latest": where a group without a committed offset begins
        def initial_offset(where)
          @settings[:initial_offset] = where.to_s
        end

        # @param active [Boolean] true: offsets are stored only by `mark_as_consumed`
        def manual_offset_management(active = true) # rubocop:disable Style/OptionalBooleanParameter -- as in Karafka
          @settings[:manual_offset_management] = active
        end

        # @param promise [Symbol] :at_least_once, or :at_most_once: offsets are committed before `consume` is called
        def delivery(promise)
          @settings[:delivery] = promise
        end

        # @param active [Boolean] true: its consumer may use `transaction`, for which each partition has a producer of its own
        def transactional(active = true) # rubocop:disable Style/OptionalBooleanParameter -- as manual_offset_management
          @settings[:transactional] = active
        end

        # Reads these partitions without a consumer group: every process that has this route reads all of them, and nothing is committed.
        # @param partitions [Hash{Integer=>Symbol, Integer, Time}] partition => where to begin: :all (what is there, and what comes),
        #   :latest, an offset, the first message at or after a Time, -10: with the last ten
        def assign(partitions: nil, **unknown)
          refuse(__method__, unknown)
          @settings[:assigned] = partitions.is_a?(Hash) ? partitions.dup.freeze : partitions || {}
        end

        # @param active [Boolean] false: without one, also where `defaults` or `active_job_topic` would bring one
        # @param topic [String, false] where the message goes; false: it is skipped
        # @param max_retries [Integer, nil] how often `consume` is called again before that; 0: never; nil: 3, with retry topics 0
        # @param independent [Boolean] whether attempts are counted again from 1 once a message has been marked as consumed
        # @param strategy [Symbol, #call] :one message, or :all that are left of the batch; or a callable that takes
        #   `(errors, attempt)` and answers :dispatch, :skip or :retry
        # @param dispatch_undecodable [Boolean] true: payloads whose bytes cannot be decoded, or that a validator refuses, go
        #   there at once, without `consume`
        def dead_letter_queue(active = true, # rubocop:disable Style/OptionalBooleanParameter -- false is all that it says
                              topic: nil, max_retries: nil, independent: false, strategy: :one, dispatch_undecodable: false, **unknown)
          refuse(__method__, unknown)
          report("dead_letter_queue takes topic: and other keywords, or false, not #{active.inspect}") unless [true, false].include?(active)
          @without_dead_letters = !active
          @settings[:dead_letter_queue] =
            active ? DeadLetterPolicy.new(topic:, max_retries:, independent:, strategy:, dispatch_undecodable:) : nil
        end

        # A message that the consumer keeps failing on goes to the first of these topics, is consumed again from there after its
        # delay, then goes to the next one, and at last to the dead letter queue. The topics are `PREFIX.SECONDS`, each with
        # this route; those that are missing are created when the application starts.
        # @param delays [Array<Numeric>] seconds
        # @param prefix [String, nil] of the topics' names; nil: "TOPIC.GROUP.retry". A pattern needs one
        def retry_topics(*delays, prefix: nil, **unknown)
          refuse(__method__, unknown)
          prefix ||= retry_prefix
          source = @name.is_a?(Regexp) ? @name.inspect : @name
          @settings[:retry_topics] = RetryTopics.new(source:, delays: delays.flatten.freeze, prefix:, step: 0)
        end

        # @param partitioner [#call] takes a message; equal answers are processed in order by one thread
        # @param max [Integer, nil] how many there are at most; nil: the application's concurrency
        # @param reducer [#call, nil] takes the partitioner's answer, returns which virtual partition it is
        def virtual_partitions(partitioner: nil, max: nil, reducer: nil, **unknown)
          refuse(__method__, unknown)
          @settings[:virtual_partitions] = VirtualPartitions.new(partitioner:, max:, reducer:)
        end

        # What stays in order, and what waits where a message fails: its key, that is what the partitioner of virtual partitions
        # answers, else the message's key. Other keys go on. `consume` is called with the messages of one key.
        # @param by [Symbol] :key
        # @param max_parked_keys [Integer] of a partition: when that many keys wait, it rests
        # @param max_parked_messages [Integer] of a partition: when that many messages wait, it rests
        def ordering(by, max_parked_keys: 100, max_parked_messages: 1_000, **unknown)
          refuse(__method__, unknown)
          @settings[:ordering] = Ordering.new(by:, max_parked_keys:, max_parked_messages:)
        end

        # Retries of this topic, where they differ from the application's.
        # @param pause_timeout [Numeric, nil] seconds before a consumer that raised is called again; nil: the application's
        # @param pause_max_timeout [Numeric, nil] seconds that this pause grows to at most; nil: the application's
        # @param pause_with_exponential_backoff [Boolean, nil] nil: the application's
        # @param non_retryable [Array<Class>] errors that go to the dead letter queue at the first attempt
        # @param transient [Array<Class>] errors of an outage, which says nothing about the message: they are retried for as
        #   long as they last and never count as an attempt
        # @param contention_limit [Integer] how often a message may fail with a database's deadlock or time-out, while at most two other
        #   messages of the process do, before that counts as an attempt of this message
        def retries(pause_timeout: nil, pause_max_timeout: nil, pause_with_exponential_backoff: nil,
                    non_retryable: [], transient: [], contention_limit: 10, **unknown)
          refuse(__method__, unknown)
          @settings[:retries] = Retries.new(pause_timeout:, pause_max_timeout:, pause_with_exponential_backoff:, non_retryable:, transient:,
            contention_limit:)
        end

        # @param settings [Hash{Symbol,String=>Object}] librdkafka's, over the application's; topics that differ in them
        #   are consumed by clients of their own
        def kafka(settings)
          settings = Config::Secrets.hide(settings.transform_keys { |name| name.to_s.to_sym }).freeze if settings.is_a?(Hash)
          @settings[:kafka] = settings
        end

        # @param block [Proc] settings
        def apply(block)
          evaluate(block, OWN_FILES) do |error|
            @incomplete = true
            report(error)
          end
        end

        def build
          @settings[:virtual_partitions] ||= BY_KEY if @settings[:ordering]
          topic = Topic.new(name: @name, **@settings, dead_letter_queue: complete(@settings[:dead_letter_queue]))
          Checks.new(topic, @errors).run unless @incomplete
          topic
        end

        private

        # For routes that should have one: unless the block, or `defaults`, has said something else.
        def dead_letter_queue_of_its_own
          return if @settings[:dead_letter_queue] || @without_dead_letters || @settings[:delivery] == :at_most_once

          dead_letter_queue(topic: "#{@name}.dead", dispatch_undecodable: true)
          @settings[:dead_letter_queue] = @settings[:dead_letter_queue].with(own: true)
        end

        def retry_prefix
          group = @settings[:group]
          return report('retry_topics of a pattern needs prefix: "NAME.retry"') if @name.is_a?(Regexp)

          return if Reporting::TOPIC_NAME.problem(@name) # which is an error by itself

          Reporting.name_after(group, "#{@name}.#{group}.retry", "a prefix") { |problem| report("retry_topics #{problem}") }
        end

        def complete(queue)
          queue&.max_retries.nil? ? queue&.with(max_retries: @settings[:retry_topics] ? 0 : 3) : queue
        end

        def report(text)
          @errors.add("topic #{@name.inspect}: #{text}")
          nil
        end

        def method_missing(name, *)
          report(OptionRules.unknown("setting #{name}", name, SETTINGS))
        end

        def respond_to_missing?(_name, _private = false)
          false
        end
      end
    end
  end
end
