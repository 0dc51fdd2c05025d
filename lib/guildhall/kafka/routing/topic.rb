# frozen_string_literal: true

module Guildhall
  module Kafka
    module Routing
      # How one topic, or every topic that matches a pattern, is consumed. Frozen.
      Topic = Data.define(:name, :group, :consumer, :deserializer, :key_deserializer, :headers_deserializer, :serializer, :parallel, :lazy,
        :max_messages, :max_bytes, :initial_offset, :manual_offset_management, :delivery, :transactional, :assigned, :dead_letter_queue,
        :virtual_partitions, :ordering, :filters, :retry_topics, :delay_tiers, :scheduled_tasks, :retries, :kafka, :excluded,
        :multiplexing) do
        # @!attribute [r] group
        #   @return [String] the consumer group
        # @!attribute [r] consumer
        #   @return [Class] a subclass of {Consumer}
        # @!attribute [r] multiplexing
        #   @return [Multiplexing] of its group
        # @!attribute [r] parallel
        #   @return [Boolean, nil] true: always on the workers; false: never; nil: what measures faster
        # @!attribute [r] lazy
        #   @return [Symbol, nil] :on_access: payloads are decoded when they are asked for

        # A pattern is matched by Ruby, with all that its Regexp may have.
        # @return [Boolean] whether messages of that topic belong here, unless another route of the group takes them
        def match?(topic_name)
          pattern? ? name.match?(topic_name) && !excluded.include?(topic_name) : name == topic_name
        end

        def pattern?
          name.is_a?(Regexp)
        end

        # @return [Topic, nil] this route for that topic alone; nil when it does not belong here
        def narrowed(topic_name)
          with(name: topic_name) if match?(topic_name)
        end

        # @return [Topic] this route without those topics; only a pattern changes
        def excluding(topic_names)
          pattern? ? with(excluded: [*excluded, *topic_names].freeze) : self
        end

        # @return [Boolean] whether messages of it are sent to other topics: retry topics, or dead letters
        def republishes? = !retry_topics.nil? || !!dead_letter_queue&.topic

        # @return [Boolean] whether the framework itself produces for it
        def needs_producer? = republishes? || !scheduled_tasks.nil?

        # @return [String, nil] how the names of the topics begin that messages wait in, of which this is one; nil: it is none
        def waiting_prefix = delay_tiers&.prefix || (retry_topics.prefix unless retry_topics.nil? || retry_topics.first?)

        # @return [Array<String>] names by which it is chosen: its own, and that of the topic whose retries it has
        def names = [to_s, *retry_topics&.source].uniq

        # @return [Array<String>] topics with which it is chosen: messages of theirs wait here
        def serves = delay_tiers ? delay_tiers.serves : [].freeze

        # @return [Array<Topic>] the routes of its retry topics: its own, with a delay
        def retry_routes = retry_topics ? retry_topics.routes(self) : []

        # @return [Boolean] whether its consumers have an `initialized`, which may seek
        def may_seek_at_first? = consumed? && consumer.instance_method(:initialized).owner != Consumer

        # @return [Boolean] false for a topic that is produced to, and nothing else
        def consumed?
          !consumer.nil?
        end

        # @return [#encode, #call, nil] what makes payloads into bytes: the serializer, or else the codec that decodes them,
        #   where it can encode as well
        def encoder
          return serializer if serializer

          codec = deserializer.is_a?(Guildhall::Pipeline) ? deserializer.decoder : deserializer
          codec if codec.respond_to?(:encode)
        end

        # @return [Boolean] whether a deserializer may leave messages out
        def filtering?
          deserializer.is_a?(Guildhall::Pipeline)
        end

        def to_s
          pattern? ? name.inspect : name
        end

        # @return [Hash{String=>Object}] what matters of it, as JSON knows it
        def summary
          {"group" => group, "topic" => to_s, "pattern" => pattern?, "consumer" => consumer&.to_s, "parallel" => parallel,
           "dead_letter_topic" => dead_letter_queue&.topic || nil, "virtual_partitions" => !virtual_partitions.nil?,
           "ordering" => (ordering ? ordering.by : :partition).to_s,
           "filters" => filters.map(&:name),
           "manual_offset_management" => manual_offset_management, "members" => [multiplexing.minimum, multiplexing.maximum]}
        end
      end

      # What becomes of messages that a consumer keeps failing on. own: whether nobody has named the topic, so that it is created where it
      # is missing.
      DeadLetterPolicy = Data.define(:topic, :max_retries, :independent, :strategy, :dispatch_undecodable, :own) do
        def initialize(own: false, **) = super
      end

      # How one partition is shared among several runner threads.
      VirtualPartitions = Data.define(:partitioner, :max, :reducer)

      # What waits where a message fails, and how much of a partition may wait.
      Ordering = Data.define(:by, :max_parked_keys, :max_parked_messages)

      # Where messages go that a consumer has failed on, before they become dead letters. step: how many of the topics a message of
      # this route has passed; 0: it is in its own topic.
      RetryTopics = Data.define(:source, :delays, :prefix, :step) do
        # @return [String, nil] where a message goes next; nil: to the dead letters
        def next_topic = step < delays.size ? "#{prefix}.#{delays[step]}" : nil

        # @return [Boolean] whether the message comes from its own topic
        def first? = step.zero?

        def routes(topic)
          delays.each_with_index.map do |seconds, index|
            delay = Filter.new(name: "delay", source: Filtering::Delay, arguments: {seconds:}.freeze)
            topic.with(name: "#{prefix}.#{seconds}", retry_topics: with(step: index + 1), filters: [delay].freeze,
              initial_offset: "earliest", excluded: [].freeze)
          end
        end
      end

      # What decides about messages before the consumer sees them: a class, of which each partition has an instance of its own, or
      # an object with `call`, which all partitions share.
      Filter = Data.define(:name, :source, :arguments) do
        def build = source.is_a?(Class) ? source.new(**arguments) : source
      end

      # How often and how soon a consumer that raised is called again; nil where the application's setting holds.
      Retries = Data.define(:pause_timeout, :pause_max_timeout, :pause_with_exponential_backoff, :non_retryable, :transient,
        :contention_limit) do
        # @param settings [Hash] what is left out is nil, or empty
        def initialize(pause_timeout: nil, pause_max_timeout: nil, pause_with_exponential_backoff: nil, non_retryable: [], transient: [],
                       contention_limit: 10)
          non_retryable = [*non_retryable].freeze
          transient = [*transient].freeze
          super
        end

        # @return [Boolean] whether another attempt is not to be made
        def non_retryable?(error) = non_retryable.any? { |klass| error.is_a?(klass) }
      end
    end
  end
end
