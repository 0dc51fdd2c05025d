# frozen_string_literal: true

require_relative "../config/librdkafka_settings"
require_relative "failure_checks"
require_relative "reporting"

module Guildhall
  module Kafka
    module Routing
      # Everything that can be wrong with one topic's settings.
      class Checks
        include Reporting

        NAME = /\A[a-zA-Z0-9._-]{1,249}\z/
        # What one topic cannot set for itself, and where it is set: librdkafka's name => the place.
        APPLICATIONS = {"bootstrap.servers" => "config.kafka", "metadata.broker.list" => "config.kafka",
                        "group.id" => 'consumer_group "name" do … end', "client.id" => "config.client_id"}.freeze

        # @return [void]
        def run
          check_name
          check_consumer
          check_callables
          check_serializer
          check_numbers
          check_choices
          FailureChecks.new(@topic, @errors).run
          check_virtual_partitions
          check_kafka
        end

        private

        def check_name
          return if @topic.pattern? || (@topic.name.is_a?(String) && @topic.name.match?(NAME))

          report("is not a valid topic name: letters, digits, '.', '_' and '-' only, 249 at most")
        end

        def check_consumer
          return if @topic.consumer.nil? && @topic.serializer # it is produced to
          return report("needs a consumer") if @topic.consumer.nil?

          unless @topic.consumer.is_a?(Class) && @topic.consumer <= Consumer
            return report("consumer #{@topic.consumer.inspect} must be a subclass of Guildhall::Kafka::Consumer")
          end

          return report("consumer #{@topic.consumer} has no method consume") unless @topic.consumer.method_defined?(:consume)

          %i[initialize consume].each { |name| takes("consumer #{@topic.consumer}: #{name}", @topic.consumer.instance_method(name), 0) }
        end

        def check_callables
          %i[deserializer key_deserializer headers_deserializer].each do |name|
            callable = @topic.public_send(name)
            report("#{name} #{callable.inspect} has no method call") unless callable.nil? || callable.respond_to?(:call)
          end
          return unless @topic.parallel && @topic.deserializer && !Ractor.shareable?(@topic.deserializer)

          path, = Shareable.find(@topic.deserializer, "deserializer")
          report("deserializing parallel: true needs a shareable deserializer; #{path} is not") unless @topic.deserializer.is_a?(Proc)
        end

        def check_serializer
          encoder = @topic.serializer
          return if encoder.nil? || encoder.respond_to?(:encode) || encoder.respond_to?(:call)

          report("serializer #{encoder.inspect} has neither encode nor call")
        end

        def check_numbers
          {max_messages: @topic.max_messages, max_bytes: @topic.max_bytes}.each do |name, count|
            report("#{name} has to be a positive Integer, not #{count.inspect}") unless count.nil? || positive?(count)
          end
        end

        def check_choices
          choose(:parallel, [true, false, nil])
          choose(:lazy, [:on_access, nil])
          report("deserializing lazy: :on_access cannot be parallel: true") if @topic.lazy && @topic.parallel
          choose(:initial_offset, ["earliest", "latest", nil])
          choose(:manual_offset_management, [true, false])
          choose(:delivery, %i[at_least_once at_most_once])
        end

        def check_virtual_partitions
          virtual = @topic.virtual_partitions or return
          return report("virtual_partitions needs a partitioner") if virtual.partitioner.nil?

          return report("virtual_partitions partitioner has no method call") unless virtual.partitioner.respond_to?(:call)

          takes("virtual_partitions partitioner", virtual.partitioner, 1)
          report("virtual_partitions max has to be a positive Integer") unless virtual.max.nil? || positive?(virtual.max)
          report("virtual_partitions reducer has no method call") unless virtual.reducer.nil? || virtual.reducer.respond_to?(:call)
          report("virtual_partitions cannot keep delivery :at_most_once") if @topic.delivery == :at_most_once
        end

        def check_kafka
          return report("kafka has to be a Hash") unless @topic.kafka.is_a?(Hash)

          APPLICATIONS.each { |name, place| report("kafka must not set #{name}: that is #{place}") if @topic.kafka.key?(name.to_sym) }
          Config::LibrdkafkaSettings.validate(@topic.kafka, @errors, "topic #{@topic.name.inspect} kafka")
        end

        def choose(name, choices)
          one_of(name, @topic.public_send(name), choices)
        end

        def positive?(count)
          count.is_a?(Integer) && count.positive?
        end
      end
    end
  end
end
