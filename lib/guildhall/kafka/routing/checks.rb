# frozen_string_literal: true

require_relative "../config/librdkafka_settings"

module Guildhall
  module Kafka
    module Routing
      # Everything that can be wrong with one topic's settings.
      class Checks
        NAME = /\A[a-zA-Z0-9._-]{1,249}\z/

        # @param topic [Topic]
        # @param faults [Faults]
        def initialize(topic, faults)
          @topic = topic
          @faults = faults
        end

        # @return [void]
        def run
          check_name
          check_consumer
          check_callables
          check_serializer
          check_numbers
          check_choices
          check_dead_letter_queue
          check_virtual_partitions
          check_kafka
        end

        private

        def check_name
          return if @topic.pattern? || (@topic.name.is_a?(String) && @topic.name.match?(NAME))

          fault("is no name for a topic: letters, digits, '.', '_' and '-' only, 249 at most")
        end

        def check_consumer
          return if @topic.consumer.nil? && @topic.serializer # it is produced to
          return fault("needs a consumer") if @topic.consumer.nil?

          unless @topic.consumer.is_a?(Class) && @topic.consumer <= Consumer
            return fault("consumer #{@topic.consumer.inspect} is no subclass of Guildhall::Kafka::Consumer")
          end

          fault("consumer #{@topic.consumer} has no method consume") unless @topic.consumer.method_defined?(:consume)
        end

        def check_callables
          %i[deserializer key_deserializer headers_deserializer].each do |name|
            callable = @topic.public_send(name)
            fault("#{name} #{callable.inspect} has no method call") unless callable.nil? || callable.respond_to?(:call)
          end
          return unless @topic.parallel && @topic.deserializer && !Ractor.shareable?(@topic.deserializer)

          path, = Shareable.find(@topic.deserializer, "deserializer")
          fault("deserializing parallel: true needs a shareable deserializer; #{path} is not") unless @topic.deserializer.is_a?(Proc)
        end

        def check_serializer
          encoder = @topic.serializer
          return if encoder.nil? || encoder.respond_to?(:encode) || encoder.respond_to?(:call)

          fault("serializer #{encoder.inspect} has neither encode nor call")
        end

        def check_numbers
          {max_messages: @topic.max_messages, max_bytes: @topic.max_bytes}.each do |name, count|
            fault("#{name} has to be a positive Integer, not #{count.inspect}") unless count.nil? || positive?(count)
          end
        end

        def check_choices
          choose(:parallel, [true, false, nil])
          choose(:lazy, [:on_access, nil])
          fault("deserializing lazy: :on_access cannot be parallel: true") if @topic.lazy && @topic.parallel
          choose(:initial_offset, ["earliest", "latest", nil])
          choose(:manual_offset_management, [true, false])
          choose(:delivery, %i[at_least_once at_most_once])
        end

        def check_dead_letter_queue
          queue = @topic.dead_letter_queue or return
          named = queue.topic == false || (queue.topic.is_a?(String) && queue.topic.match?(NAME))
          fault("dead_letter_queue topic has to be the name of a topic, or false to skip") unless named
          fault("dead_letter_queue max_retries has to be an Integer ≥ 0") unless queue.max_retries.is_a?(Integer) && queue.max_retries >= 0
          return if %i[one all].include?(queue.strategy) || queue.strategy.respond_to?(:call)

          fault("dead_letter_queue strategy has to be :one, :all or callable, not #{queue.strategy.inspect}")
        end

        def check_virtual_partitions
          virtual = @topic.virtual_partitions or return
          fault("virtual_partitions partitioner has no method call") unless virtual.partitioner.respond_to?(:call)
          fault("virtual_partitions max has to be a positive Integer") unless virtual.max.nil? || positive?(virtual.max)
          fault("virtual_partitions reducer has no method call") unless virtual.reducer.nil? || virtual.reducer.respond_to?(:call)
          fault("virtual_partitions cannot keep delivery :at_most_once") if @topic.delivery == :at_most_once
        end

        def check_kafka
          return fault("kafka has to be a Hash") unless @topic.kafka.is_a?(Hash)

          Config::LibrdkafkaSettings.validate(@topic.kafka, @faults, "topic #{@topic.name.inspect} kafka")
        end

        def choose(name, choices)
          value = @topic.public_send(name)
          fault("#{name} has to be one of #{choices.map(&:inspect).join(", ")}, not #{value.inspect}") unless choices.include?(value)
        end

        def positive?(count)
          count.is_a?(Integer) && count.positive?
        end

        def fault(text)
          @faults.add("topic #{@topic.name.inspect}: #{text}")
        end
      end
    end
  end
end
