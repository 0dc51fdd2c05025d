# frozen_string_literal: true

require_relative "../config/librdkafka_settings"
require_relative "failure_checks"
require_relative "filter_checks"
require_relative "reporting"

module Guildhall
  module Kafka
    module Routing
      # Everything that can be wrong with one topic's settings.
      class Checks
        include Reporting

        # What one topic cannot set for itself, and where it is set: librdkafka's name => the place.
        APPLICATIONS = {"bootstrap.servers" => "config.kafka", "metadata.broker.list" => "config.kafka",
                        "group.id" => 'consumer_group "name" do … end', "client.id" => "config.client_id"}.freeze

        CALLABLE = OptionRules.object("an object with `call`", :call).or(nil)
        # Libraries whose modules are not callable, by the last word of their names => what does that here.
        CODECS = {"JSON" => "Guildhall::JSON.lazy", "Oj" => "Guildhall::JSON.lazy", "MessagePack" => "Guildhall::MessagePack.lazy",
                  "Psych" => "Guildhall::YAML", "YAML" => "Guildhall::YAML", "CSV" => "Guildhall::CSV"}.freeze
        MEANT = lambda do |expected, value|
          codec = CODECS[value.name.to_s[/\w+\z/]] if value.is_a?(Module)
          "must be #{expected}, not #{value}; did you mean #{codec}?" if codec
        end
        DESERIALIZER = OptionRules.rule("an object with `call`") do |value|
          value.respond_to?(:call) || MEANT.call("an object with `call`", value)
        end.or(nil)
        SERIALIZER = OptionRules.rule("an object with `encode` or `call`") do |value|
          value.respond_to?(:encode) || value.respond_to?(:call) ||
            MEANT.call("an object with `encode` or `call`", value)&.then { it.sub(".lazy", "") }
        end.or(nil)
        RULES = OptionRules.new(
          deserializer: DESERIALIZER, key_deserializer: DESERIALIZER, headers_deserializer: DESERIALIZER,
          parallel: OptionRules.one_of(true, false, nil), lazy: OptionRules.one_of(:on_access, nil),
          serializer: SERIALIZER,
          max_messages: OptionRules.integer.or(nil), max_bytes: OptionRules.bytes.or(nil),
          initial_offset: OptionRules.one_of("earliest", "latest").or(nil), manual_offset_management: OptionRules.boolean,
          transactional: OptionRules.boolean,
          delivery: OptionRules.one_of(:at_least_once, :at_most_once), kafka: Config::LibrdkafkaSettings::RULE
        )
        VIRTUAL_PARTITIONS = OptionRules.new(
          partitioner: OptionRules.object("an object with `call`", :call), max: OptionRules.integer.or(nil), reducer: CALLABLE
        )
        ORDERING = OptionRules.new(
          by: OptionRules.rule(":key") { it == :key }, max_parked_keys: OptionRules.integer, max_parked_messages: OptionRules.integer
        )
        ASSIGN = OptionRules.new(
          partitions: OptionRules.rule("a Hash of partitions and where to begin: {0 => :all, 1 => -10}") do |value|
            value.is_a?(Hash) && value.any? &&
              value.all? { |number, place| number.is_a?(Integer) && !number.negative? && PLACE.call(place) }
          end
        )
        PLACE = ->(place) { place.is_a?(Integer) || place.is_a?(Time) || %i[all earliest latest].include?(place) }
        private_constant :CALLABLE, :CODECS, :MEANT, :DESERIALIZER, :SERIALIZER, :RULES, :VIRTUAL_PARTITIONS, :ORDERING, :ASSIGN, :PLACE

        def run
          check_name
          check_consumer
          check(RULES, @topic)
          check_deserializing
          FailureChecks.new(@topic, @errors).run
          FilterChecks.new(@topic, @errors).run
          check_virtual_partitions
          check_ordering
          check_assign
          check_kafka
        end

        private

        def check_name
          return if @topic.pattern? || TOPIC_NAME.problem(@topic.name).nil?

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

        def check_deserializing
          report("deserializing lazy: :on_access cannot be parallel: true") if @topic.lazy && @topic.parallel
          return unless @topic.parallel && @topic.deserializer && !Ractor.shareable?(@topic.deserializer)

          path, = Shareable.find(@topic.deserializer, "deserializer")
          report("deserializing parallel: true needs a shareable deserializer; #{path} is not") unless @topic.deserializer.is_a?(Proc)
        end

        def check_virtual_partitions
          virtual = @topic.virtual_partitions or return
          check(VIRTUAL_PARTITIONS, virtual, "virtual_partitions ")
          takes("virtual_partitions partitioner", virtual.partitioner, 1) if virtual.partitioner.respond_to?(:call)
          report("virtual_partitions cannot keep delivery :at_most_once") if @topic.delivery == :at_most_once
          report("virtual_partitions cannot be transactional: a partition has one transaction at a time") if @topic.transactional
        end

        def check_ordering
          ordering = @topic.ordering or return
          check(ORDERING, ordering, "ordering ")
          {retry_topics: "a message that is retried there is overtaken by those with its key",
           manual_offset_management: "a message is done when consume has returned for it"}
            .each { |name, why| report("ordering :key cannot have #{name}: #{why}") if @topic.public_send(name) }
        end

        def check_assign
          return if @topic.assigned.nil?

          check(ASSIGN, {partitions: @topic.assigned}, "assign ")
          report("assign needs a topic, not a pattern") if @topic.pattern?
          {transactional: @topic.transactional, retry_topics: @topic.retry_topics,
           "delivery :at_most_once": @topic.delivery == :at_most_once}
            .each { |name, set| report("assign cannot be combined with #{name}: without a group nothing is committed") if set }
        end

        def check_kafka
          return unless @topic.kafka.is_a?(Hash)

          if @topic.initial_offset && @topic.kafka.key?(:"auto.offset.reset")
            report("has initial_offset and kafka auto.offset.reset, which say the same: leave one of them out")
          end
          APPLICATIONS.each { |name, place| report("kafka must not set #{name}: that is #{place}") if @topic.kafka.key?(name.to_sym) }
          Config::LibrdkafkaSettings.validate(@topic.kafka, @errors, "topic #{@topic.name.inspect} kafka")
        end
      end
    end
  end
end
