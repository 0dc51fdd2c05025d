# frozen_string_literal: true

require_relative "../config/librdkafka_settings"
require_relative "topic"

module Guildhall
  module Kafka
    module Routing
      # Finds everything that is wrong with one topic's settings: each by itself, as its rule says, and those that exclude each other, or
      # mean nothing together.
      # @api private
      class TopicChecks
        # Settings of librdkafka that one topic cannot have for itself => where the application sets them.
        APPLICATIONS = {"bootstrap.servers" => "config.kafka", "metadata.broker.list" => "config.kafka",
                        "group.id" => 'consumer_group "name" do … end', "client.id" => "config.client_id"}.freeze
        # Pairs that no route may have => why.
        EXCLUSIVE = {
          %i[virtual_partitions transactional] => "virtual_partitions cannot be transactional: a partition has one transaction at a time",
          %i[at_most_once transactional] =>
            "delivery :at_most_once cannot be transactional: offsets are committed before consume is called",
          %i[at_most_once dead_letter_queue] =>
            "delivery :at_most_once cannot have a dead_letter_queue: a message that fails is not retried",
          %i[at_most_once virtual_partitions] => "virtual_partitions cannot keep delivery :at_most_once",
          %i[at_most_once manual_offset_management] =>
            "delivery :at_most_once cannot have manual_offset_management: offsets are committed before consume is called",
          %i[ordering retry_topics] =>
            "ordering :key cannot have retry_topics: a message that is retried there is overtaken by those with its key",
          %i[ordering manual_offset_management] =>
            "ordering :key cannot have manual_offset_management: a message is done when consume has returned for it",
          %i[config pattern] => "config needs a topic, not a pattern: a topic that is not there yet has no name",
          %i[assigned pattern] => "assign needs a topic, not a pattern",
          %i[assigned transactional] => "assign cannot be combined with transactional: without a group nothing is committed",
          %i[assigned retry_topics] => "assign cannot be combined with retry_topics: without a group nothing is committed",
          %i[assigned at_most_once] => "assign cannot be combined with delivery :at_most_once: without a group nothing is committed",
          %i[lazy parallel] => "deserializing lazy: :on_access cannot be parallel: true"
        }.freeze
        private_constant :APPLICATIONS, :EXCLUSIVE

        def initialize(topic, problems)
          @topic = topic
          @problems = problems
        end

        def run
          if !@topic.pattern? && Settings::Rules::TOPIC_NAME.problem(@topic.name)
            report("is not a valid topic name: letters, digits, '.', '_' and '-' only, 249 at most")
          end
          check_consumer
          Topic.settings.problems(@topic.to_h).each { |problem| report(problem) }
          check_exclusive
          check_deserializer
          check_parallel
          check_retries
          @topic.filters.each { |filter| check_filter(filter) }
          check_ages
          check_kafka
        end

        private

        def check_consumer
          consumer = @topic.consumer
          return if consumer.nil? && (@topic.serializer || @topic.config) # it is produced to, or only declared
          return report("needs a consumer") if consumer.nil?

          unless consumer.is_a?(Class) && consumer <= Consumer
            return report("consumer #{consumer.inspect} must be a subclass of Guildhall::Kafka::Consumer")
          end
          return report("consumer #{consumer} has no method consume") unless consumer.method_defined?(:consume)

          %i[initialize consume].each { |name| check_arity("consumer #{consumer}: #{name}", consumer.instance_method(name), 0) }
        end

        def check_exclusive
          set = @topic.to_h.merge(at_most_once: @topic.delivery == :at_most_once, pattern: @topic.pattern?)
          EXCLUSIVE.each { |names, problem| report(problem) if set.values_at(*names).all? }
        end

        # It would fail at each message.
        def check_deserializer
          given = @topic.deserializer
          return unless given.respond_to?(:call) && Callable.takes_message?(given.method(:call))

          report("the deserializer #{Inspection.name_of(given)} seems to take a message, as Karafka's do; here it gets bytes: " \
                 "call(bytes) or call(bytes, metadata) (if it takes bytes, call the parameter so)")
        end

        def check_parallel
          return unless @topic.parallel && @topic.deserializer && !Ractor.shareable?(@topic.deserializer)

          path, = Shareable.find(@topic.deserializer, "deserializer")
          report("deserializing parallel: true needs a shareable deserializer; #{path} is not") unless @topic.deserializer.is_a?(Proc)
        end

        def check_retries
          check_error_classes(@topic.retries)
          return unless @topic.retry_topics && @topic.dead_letter_queue.nil?

          report("retry_topics needs a dead_letter_queue: what comes after the last one")
        end

        def check_error_classes(retries)
          {non_retryable: retries.non_retryable, transient: retries.transient}.each do |name, classes|
            wrong = classes.reject { |one| one.is_a?(Class) ? one <= Exception : one.is_a?(Module) }
            report("retries #{name} takes classes of errors, not #{wrong.map(&:inspect).join(", ")}") unless wrong.empty?
          end
          if retries.non_retryable.any? && @topic.dead_letter_queue.nil?
            report("retries non_retryable needs a dead_letter_queue: without one a message is retried until it succeeds")
          end
          both = retries.non_retryable & retries.transient
          report("retries has #{both.join(", ")} as non_retryable and as transient") if both.any?
          all = retries.transient & [StandardError, Exception]
          return if all.empty? || @topic.dead_letter_queue.nil?

          # Whatever the consumer raised would be retried for ever.
          report("retries transient: #{all.first} takes every error for an outage, so that nothing reaches the dead_letter_queue; " \
                 "name the classes that your clients raise in an outage")
        end

        def check_filter(filter)
          built_in = Filtering::BUILT_IN[filter.name.to_sym]
          return built_in.parts.problems(filter.arguments, "#{filter.name} ").each { |problem| report(problem) } if built_in

          source = filter.source
          return report("filter needs a class, an object with call, or a block") if source.nil?
          return check_filter_class(source, filter.arguments.keys) if source.is_a?(Class)
          return report("filter #{source.inspect} has no method call") unless source.respond_to?(:call)

          report("filter #{source.inspect} takes no keywords: only a class does") if filter.arguments.any?
          check_arity("filter", source, 1)
        end

        # Otherwise `new` and `call` would raise for each partition.
        def check_filter_class(source, given)
          return report("filter #{source} has no method call") unless source.method_defined?(:call)

          check_arity("filter #{source}: call", source.instance_method(:call), 1)
          parameters = source.instance_method(:initialize).parameters
          report("filter #{source}: initialize must take keywords only") if parameters.any? { |kind, _| kind == :req }
          missing = parameters.filter_map { |kind, name| name if kind == :keyreq } - given
          report("filter #{source}: missing keyword #{missing.join(", ")}") if missing.any?
          return if parameters.any? { |kind, _| kind == :keyrest }

          known = parameters.filter_map { |kind, name| name if %i[key keyreq].include?(kind) }
          (given - known).each { |name| report(OptionRules.unknown("keyword #{name} of filter #{source}", name, known)) }
        end

        # The order of the two does not matter: filters are called again with messages that have waited.
        def check_ages
          expire = seconds("expire").min
          delay = seconds("delay").max
          report("expire #{expire} lets nothing through that delay #{delay} has made wait") if expire && delay && expire <= delay
        end

        def seconds(name)
          @topic.filters.filter_map { |filter| filter.arguments[:seconds] if filter.name == name }
            .select { |value| OptionRules.seconds.problem(value).nil? }
        end

        def check_kafka
          return unless @topic.kafka.is_a?(Hash)

          if @topic.initial_offset && @topic.kafka.key?(:"auto.offset.reset")
            report("has initial_offset and kafka auto.offset.reset, which say the same: leave one of them out")
          end
          APPLICATIONS.each { |name, place| report("kafka must not set #{name}: that is #{place}") if @topic.kafka.key?(name.to_sym) }
          Config::LibrdkafkaSettings.validate(@topic.kafka, @problems, "topic #{@topic.name.inspect} kafka")
        end

        def check_arity(name, callable, count)
          problem = Settings::Rules.arity_problem(callable, count) and report("#{name} #{problem}")
        end

        def report(text)
          @problems.add("topic #{@topic.name.inspect}: #{text}")
        end
      end
    end
  end
end
