# frozen_string_literal: true

require_relative "../config/librdkafka_settings"
require_relative "../filtering/filters"
require_relative "../settings/rules"
require_relative "../settings/table"
require_relative "topic_config"

module Guildhall
  module Kafka
    module Routing
      Rules = Settings::Rules
      private_constant :Rules

      # The policy for messages that a consumer keeps failing on. own: the framework has named the topic, and creates it.
      # @api private
      DeadLetterPolicy = Settings.value({own: false}) do
        setting :topic, nil, Rules::TOPIC_NAME.or(false), "where the message goes; false: it is skipped"
        setting :max_retries, nil, OptionRules.integer(0..),
          "how often `consume` is called again before that; 0: never; nil: 3, with retry topics 0"
        setting :independent, false, Rules::BOOLEAN, "has no effect, for attempts are always counted for each message; Karafka's name"
        setting :strategy, :one, Rules.callable("a callable", 2).or(:one, :all),
          "`:one` message, or `:all` that are left of the batch; or a callable that takes `(errors, attempt)` and answers `:dispatch`, " \
          "`:skip` or `:retry`"
        setting :dispatch_undecodable, false, Rules::BOOLEAN,
          "true: payloads whose bytes cannot be decoded, or that a validator refuses, go there at once, without `consume`"
      end

      # How often and how soon a consumer that raised is called again; nil where the application's setting holds.
      Retries = Settings.value do
        setting :pause_timeout, nil, Rules::DURATION.or(nil),
          "seconds before a consumer that raised is called again; nil: the application's"
        setting :pause_max_timeout, nil, Rules::DURATION.or(nil),
          "seconds that this pause grows to at most, doubling; nil: the application's"
        setting :non_retryable, [], nil, "classes of errors that go to the dead letter queue at the first attempt"
        setting :transient, [], nil,
          "classes of errors of an outage, which says nothing about the message: they are retried for as long as they last, and never " \
          "count as an attempt"
        setting :contention_limit, 10, Rules::COUNT,
          "how often a message may fail with a database's deadlock or time-out, while at most two other messages of the process do, " \
          "before that counts as an attempt of this message"
      end

      # (see Retries)
      # @api private
      class Retries
        def initialize(non_retryable: [], transient: [], **)
          super(non_retryable: Rules.list(non_retryable).freeze, transient: Rules.list(transient).freeze, **)
        end

        def non_retryable?(error) = non_retryable.any? { |klass| error.is_a?(klass) }
      end

      # The topics that a message passes after its consumer has failed on it, before it becomes a dead letter. source: its own topic; step:
      # how many of the topics the messages of this route have passed; 0: it is the route of their own topic.
      RetryTopics = Settings.value({source: nil, step: 0}) do
        setting :delays, nil, Rules::ASCENDING_SECONDS, "seconds, one number for each topic", written: %w[retry_topics SECONDS…]
        setting :prefix, nil, Rules::TOPIC_PREFIX.or(nil), "of the topics' names; nil: \"TOPIC.GROUP.retry\". A pattern needs one"
      end

      # (see RetryTopics)
      # @api private
      class RetryTopics
        def named? = Rules::TOPIC_PREFIX.problem(prefix).nil?

        # @return [String, nil] where a message goes next; nil: to the dead letters
        def next_topic = step < delays.size ? "#{prefix}.#{delays[step]}" : nil

        def routes(topic)
          delays.each_with_index.map do |seconds, index|
            delay = Filter.new(name: "delay", source: Filtering::Delay, arguments: {seconds:}.freeze)
            topic.with(name: "#{prefix}.#{seconds}", retry_topics: with(step: index + 1), filters: [delay].freeze,
              initial_offset: "earliest", excluded: [].freeze, config: topic.config&.for_copies)
          end
        end
      end

      # How one partition is shared among several runner threads.
      # @api private
      VirtualPartitions = Settings.value do
        setting :partitioner, nil, Rules.callable("an object with `call`", 1),
          "takes a message; messages with equal answers are processed in order by one thread"
        setting :max, nil, Rules::COUNT.or(nil), "how many there are at most; nil: the application's `concurrency`"
        setting :reducer, nil, OptionRules.object("an object with `call`", :call).or(nil),
          "takes the partitioner's answer, returns which virtual partition it is"
      end

      # The order of messages: what waits where one of them fails, and how much of a partition may wait.
      # @api private
      Ordering = Settings.value do
        setting :by, nil, Rules::KEY, "`:key`", written: %w[ordering BY]
        setting :max_parked_keys, 100, Rules::COUNT, "of a partition: when that many keys wait, it rests"
        setting :max_parked_messages, 1_000, Rules::COUNT, "of a partition: when that many messages wait, it rests"
      end

      # Decides about messages before the consumer sees them: a class, of which each partition has an instance of its own, or an object with
      # `call`, which all partitions share.
      # @api private
      Filter = Data.define(:name, :source, :arguments) do
        def build = source.is_a?(Class) ? source.new(**arguments) : source
      end

      # The number of members of a consumer group in one process: a fixed one, or between two numbers, as the lag says.
      Multiplexing = Settings.value do
        setting :size, nil, nil, "an Integer; or a Range: the lag decides, never more than the process has partitions",
          written: %w[multiplexing SIZE]
        setting :lag, 10, Rules::DURATION,
          "seconds; the process is behind when the oldest of its messages that are not done is older", written: %i[multiplexing lag]
        setting :grow_after, 30, Rules::DURATION, "seconds that it has to be behind before there is a member more",
          written: %i[multiplexing grow_after]
        setting :shrink_after, 600, Rules::DURATION, "seconds that it has to be caught up before there is a member less",
          written: %i[multiplexing shrink_after]
      end

      # (see Multiplexing)
      class Multiplexing
        LIMIT = 1..100 # members; each costs a thread, and a client of librdkafka with its own
        SIZE = OptionRules.rule("an Integer from 1 to 100, or a Range of two of them (2..5)") do |value|
          first, last = value.is_a?(Range) && !value.exclude_end? ? [value.begin, value.end] : [value, value]
          [first, last].all? { |one| one.is_a?(Integer) && LIMIT.cover?(one) } && first <= last
        end
        OPTIONS = OptionRules.new("keyword", **settings.reject { |setting| setting.name == :size }.to_h { |one| [one.name, one.rule] })
        private_constant :LIMIT, :SIZE, :OPTIONS

        def self.errors(size, options)
          errors = [*SIZE.problem(size), *OPTIONS.errors(options)]
          return errors if errors.any? || options.empty? || new(size:).elastic?

          ["#{size} cannot have #{options.keys.join(", ")}: the number of members changes with a Range only, as in multiplexing 2..5"]
        end

        def initialize(size:, **)
          super(size: size.is_a?(Integer) ? size..size : size, **)
        end

        # @api private
        NONE = new(size: 1)

        def minimum = size.begin
        def maximum = size.end

        # @return [Boolean] whether their number changes with the lag
        def elastic? = maximum > minimum
        def single? = maximum == 1
        def to_s = elastic? ? "#{minimum} to #{maximum} members" : "#{maximum} member#{"s" unless single?}"
      end

      # How one topic, or every topic that matches a pattern, is consumed: what its route says, and what follows from other routes. Frozen.
      #
      # The settings are declared here, and {TopicBuilder} has a method for each: see CONTRIBUTING, "Add a setting to a route".
      Topic = Settings.value({name: nil, group: nil, excluded: [].freeze, delay_topics: nil, scheduled_tasks: nil,
                              multiplexing: Multiplexing::NONE}) do
        setting :consumer, nil, nil, "a subclass of `Guildhall::Kafka::Consumer`; one instance handles one partition"
        setting :deserializer, nil, Rules::DESERIALIZER,
          "takes the payload's bytes (and the message's metadata, where it takes two arguments): a codec, a pipeline, or any other " \
          "object; shareable where it is to run on the workers. nil: the payload is the bytes. Also `deserializers payload:`"
        setting :key_deserializer, nil, Rules::DESERIALIZER, "takes the key's bytes", written: %i[deserializers key]
        setting :headers_deserializer, nil, Rules::DESERIALIZER, "takes the Hash of headers", written: %i[deserializers headers]
        setting :serializer, nil, Rules::SERIALIZER,
          "makes bytes of an object that is produced to this topic: a codec, or any object that is called with it. nil: the " \
          "deserializer's codec, where it can encode. A topic with a serializer and no consumer is one that is only produced to"
        setting :parallel, nil, OptionRules.one_of(true, false, nil),
          "true: payloads are decoded on the workers, but for Documents that no stage in Ruby follows, which the reader makes; false: " \
          "never on the workers; nil: where it is faster",
          written: %i[deserializing parallel], note: ->(parallel, _) { "parallel: #{parallel}" }
        setting :lazy, nil, OptionRules.one_of(:on_access, nil),
          "`:on_access`: each payload is decoded when it is asked for, and not before: for payloads that are rarely read",
          written: %i[deserializing lazy]
        setting :max_messages, nil, Rules::COUNT.or(nil), "messages in a batch, at most; nil: the application's"
        setting :max_bytes, nil, Rules::BYTES.or(nil), "bytes in a batch, about, but one message in any case; nil: the application's"
        setting :retries, Retries.new, Retries, "retries of this topic, where they differ from the application's"
        setting :dead_letter_queue, nil, DeadLetterPolicy,
          "what becomes of a message that keeps failing; false: nothing, also where `defaults` or `active_job_topic` would bring one",
          note: ->(queue, _) { "dead letters: #{queue.topic}" }, json: ->(queue) { {"dead_letter_topic" => queue&.topic || nil} }
        setting :virtual_partitions, nil, VirtualPartitions, "shares a partition's batch among several runner threads",
          note: ->(_, topic) { topic.ordering ? "virtual partitions, ordered by key" : "virtual partitions" },
          json: ->(virtual) { {"virtual_partitions" => !virtual.nil?} }
        setting :ordering, nil, Ordering,
          "what stays in order, and what waits where a message fails: its key, that is what the partitioner of virtual partitions " \
          "answers, else the message's key. Other keys go on. `consume` is called with the messages of one key",
          json: ->(ordering) { {"ordering" => (ordering ? ordering.by : :partition).to_s} }
        setting :filters, [], nil, "filters of your own: a class whose instances have `call(messages)`, one for each partition, and its " \
                                   "keywords; or an object with `call`, or a block, which all partitions share",
          written: %w[filter CLASS], note: ->(filters, _) { "filters: #{filters.map(&:name).join(", ")}" },
          json: ->(filters) { {"filters" => filters.map(&:name)} }
        setting :retry_topics, nil, RetryTopics,
          "a message that the consumer keeps failing on goes to the first of these topics, is consumed again from there after its " \
          "delay, then goes to the next one, and at last to the dead letter queue. The topics are `PREFIX.SECONDS`; those that are " \
          "missing are created when the application starts",
          note: ->(retries, topic) { "retries after #{retries.delays.join(", ")} s" unless topic.retry_topic? }
        setting :initial_offset, nil, OptionRules.one_of("earliest", "latest").or(nil),
          "where a group without a committed offset begins; nil: as librdkafka's `auto.offset.reset` says"
        setting :delivery, :at_least_once, OptionRules.one_of(:at_least_once, :at_most_once),
          "`:at_most_once`: offsets are committed before `consume` is called"
        setting :assigned, nil, Rules::PARTITIONS,
          "reads these partitions without a consumer group: partition => where to begin (`:all`: what is there, and what comes; " \
          "`:latest`; an offset; the first message at or after a Time; -10: with the last ten). Every process with this route reads all " \
          "of them, and nothing is committed",
          written: %i[assign partitions],
          note: ->(assigned, _) { "partitions #{assigned.keys.join(", ")} without a group" }
        setting :transactional, false, Rules::BOOLEAN,
          "true: its consumer may use `transaction`, for which each partition has a producer of its own", note: ->(*) { "transactional" }
        setting :manual_offset_management, false, Rules::BOOLEAN, "true: offsets are stored only by `mark_as_consumed`",
          note: ->(*) { "manual offsets" }
        setting :config, nil, TopicConfig,
          "what the topic is to be at the brokers, for `guildhall topics plan` and `apply`; what is not named is not compared. A topic " \
          "with `config` and no consumer is only declared",
          note: ->(config, topic) { "config: #{config}" unless config.to_s.empty? || topic.retry_topic? }
        setting :kafka, {}, Config::LibrdkafkaSettings::RULE,
          "settings of librdkafka, over the application's; topics that differ in them are consumed by clients of their own",
          json: ->(settings) { {"kafka" => settings.keys.map(&:to_s)} } # values may be secret
      end

      # (see Topic)
      class Topic
        # A pattern is matched by Ruby, with all that its Regexp may have.
        # @return [Boolean] whether messages of that topic belong here, unless another route of the group takes them
        def match?(topic_name)
          pattern? ? name.match?(topic_name) && !excluded.include?(topic_name) : name == topic_name
        end

        def pattern? = name.is_a?(Regexp)

        # @return [Topic, nil] this route for that topic alone; nil when it does not belong here
        def narrowed(topic_name) = (with(name: topic_name) if match?(topic_name))

        # @return [Topic] this route without those topics; only a pattern changes
        def excluding(topic_names) = pattern? ? with(excluded: [*excluded, *topic_names].freeze) : self

        # @return [Boolean] whether another attempt is not to be made after this error of the consumer's
        def non_retryable?(error)
          retries.non_retryable?(error) || (!!dead_letter_queue&.dispatch_undecodable && error.is_a?(UndecodableMessageError))
        end

        # @return [String, nil] where messages go that keep failing; nil: nowhere, they are retried, or dropped
        def dead_letter_topic = dead_letter_queue&.topic || nil

        # @return [Boolean] whether the framework itself produces for it: retries, dead letters, runs of tasks
        def needs_producer? = !!(retry_topics || dead_letter_topic || scheduled_tasks)

        # @return [Boolean] whether messages of another topic come here, after its consumer has failed on them
        def retry_topic? = !retry_topics.nil? && retry_topics.step.positive?

        # @return [String, nil] of a topic that messages wait in: the prefix of its name, which all such topics of its source share; nil: it
        #   is another topic
        def waiting_prefix = delay_topics&.prefix || (retry_topics.prefix if retry_topic?)

        # @return [Array<String>] names that choose it: its own, and that of the topic whose retries it has
        def names = [to_s, *retry_topics&.source].uniq

        # @return [Array<String>] topics that choose it too: their messages wait here
        def serves = delay_topics ? delay_topics.serves : [].freeze

        # @return [Boolean] whether its consumers have an `initialized`, which may seek
        def may_seek_at_first? = consumed? && consumer.instance_method(:initialized).owner != Consumer

        # @return [Boolean] false for a topic that is produced to, and nothing else
        def consumed? = !consumer.nil?

        # @return [Boolean] whether its consumer gets payloads as Strings of bytes. Guildhall's own (of jobs, tasks, delays) want them so
        def undecoded? = consumed? && deserializer.nil? && !consumer.name.to_s.start_with?("Guildhall::")

        # @return [#encode, #call, nil] what makes payloads into bytes: the serializer, or else the codec that decodes them, where it can
        def encoder
          return serializer if serializer

          codec = deserializer.is_a?(Guildhall::Pipeline) ? deserializer.decoder : deserializer
          codec if codec.respond_to?(:encode)
        end

        def to_s = pattern? ? name.inspect : name

        # @return [Array<String>] notes of `guildhall routes` on settings that differ from the default
        def notes
          self.class.settings.filter_map do |setting|
            value = public_send(setting.name)
            setting.note.call(value, self) if setting.note && value != setting.default
          end
        end

        def summary
          settings = self.class.settings.map { |setting| setting.to_json_members(public_send(setting.name)) }
          {"group" => (group if consumed?), "topic" => to_s, "pattern" => pattern?, **settings.reduce(:merge),
           "members" => [multiplexing.minimum, multiplexing.maximum]}
        end
      end
    end
  end
end
