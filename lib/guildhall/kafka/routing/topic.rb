# frozen_string_literal: true

module Guildhall
  module Kafka
    module Routing
      # How one topic, or every topic that matches a pattern, is consumed. Frozen.
      Topic = Data.define(:name, :group, :consumer, :deserializer, :key_deserializer, :headers_deserializer, :serializer, :parallel, :lazy,
        :max_messages, :max_bytes, :initial_offset, :manual_offset_management, :delivery, :dead_letter_queue, :virtual_partitions,
        :retries, :kafka) do
        # @!attribute [r] name
        #   @return [String, Regexp]
        # @!attribute [r] group
        #   @return [String] the consumer group
        # @!attribute [r] consumer
        #   @return [Class] a subclass of {Consumer}
        # @!attribute [r] parallel
        #   @return [Boolean, nil] true: always on the workers; false: never; nil: what measures faster
        # @!attribute [r] lazy
        #   @return [Symbol, nil] :on_access: payloads are decoded when they are asked for

        # @param topic_name [String]
        # @return [Boolean] whether messages of that topic belong here
        def match?(topic_name)
          pattern? ? name.match?(topic_name) : name == topic_name
        end

        # @return [Boolean]
        def pattern?
          name.is_a?(Regexp)
        end

        # @return [String] the name as librdkafka subscribes to it
        def subscription
          return name unless pattern?

          source = name.source.sub(/\A\\A/, "^").sub(/\\[zZ]\z/, "$")
          source.start_with?("^") ? source : "^.*#{source}"
        end

        # @param topic_name [String]
        # @return [Topic, nil] this route for that topic alone; nil when it does not belong here
        def narrowed(topic_name)
          with(name: topic_name) if match?(topic_name)
        end

        # @param topic_names [Array<String>]
        # @return [Topic] this route without those topics, which only a pattern may have matched
        def excluding(topic_names)
          matched = topic_names.select { |topic_name| match?(topic_name) }
          return self if matched.empty?

          hidden = [kafka[:"topic.blacklist"], *matched.map { |topic_name| "^#{topic_name.gsub(".", "\\.")}$" }].compact
          with(kafka: kafka.merge("topic.blacklist": hidden.join(",")).freeze)
        end

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

        # @return [String]
        def to_s
          pattern? ? name.inspect : name
        end
      end

      # What becomes of messages that a consumer keeps failing on.
      DeadLetterQueue = Data.define(:topic, :max_retries, :independent, :strategy, :poison)

      # How one partition is shared among several runner threads.
      VirtualPartitions = Data.define(:partitioner, :max, :reducer)

      # How often and how soon a consumer that raised is called again; nil where the application's setting holds.
      Retries = Data.define(:pause_timeout, :pause_max_timeout, :pause_with_exponential_backoff, :non_retryable)
    end
  end
end
