# frozen_string_literal: true

require_relative "../routing/rights"
require_relative "../routing/topic_config"
require_relative "admin_client"

module Guildhall
  module Kafka
    module Broker
      # Asks the brokers whether the topics that an application's routes send messages on to (dead letters, retry topics, delay topics) are
      # there, may be written to, and take messages as large as those that are consumed. What the brokers do not tell is not checked.
      # @api private
      class TargetCheck
        LIMIT_SECONDS = 30
        SLICE_MS = 200 # so that a stop does not wait for the brokers
        # Numbers of the Kafka protocol.
        TOPIC = 2
        BROKER = 4
        MAX_BYTES = "max.message.bytes"
        AUTO_CREATE = "auto.create.topics.enable"
        private_constant :LIMIT_SECONDS, :SLICE_MS, :TOPIC, :BROKER, :MAX_BYTES, :AUTO_CREATE

        # A topic that messages are sent on to. sources: the topics that they come from, without those of patterns; created: whether the
        # application creates it where it is missing.
        Target = Data.define(:name, :group, :sources, :created)
        private_constant :Target

        # @return [Hash{String=>Boolean}] where messages of a route go, and whether the application creates that topic
        def self.targets(topic)
          delayed = !topic.delay_topics.nil?
          {topic.dead_letter_topic => delayed || topic.dead_letter_queue&.own, topic.retry_topics&.next_topic => true,
           (topic.name if delayed) => true}.select { |name, _| name }
        end

        # @yieldreturn [Boolean] asked now and then: whether to give up
        def initialize(topics, config, &give_up)
          @targets = targets(topics)
          @config = config
          @give_up = give_up
          @max_bytes = Hash.new { |known, name| known[name] = Integer(setting(TOPIC, name, MAX_BYTES), exception: false) }
        end

        # Blocks for the brokers' answers.
        # @yield topic, the group of its route, what is wrong with the topic and what to do
        def run
          return if @targets.empty?

          @limit = Clock.now + LIMIT_SECONDS
          @admin = connect
          names = @targets.flat_map { |target| [target.name, *target.sources] }.uniq
          described = answer(@admin.describe_topics(names, include_authorized_operations: true)) or return
          @described = described.topics.to_h { |topic| [topic[:name], topic] }
          @targets.each { |target| problem(target)&.then { |text| yield target.name, target.group, text } }
        ensure
          @admin&.close
        end

        private

        def connect = AdminClient.new(Producing::Settings.of(@config))

        def targets(topics)
          topics.each_with_object({}) do |topic, found|
            TargetCheck.targets(topic).each do |name, created|
              target = found[name] ||= Target.new(name:, group: topic.group, sources: [], created:)
              target.sources << topic.name unless topic.pattern?
            end
          end.values
        end

        def problem(target)
          topic = @described[target.name] or return
          case topic[:error]&.code
          when nil then may_not_be_written(topic) || too_small(target)
          when :unknown_topic_or_part then missing(target)
          when :topic_authorization_failed then "topic #{target.name} cannot be asked for: grant DESCRIBE and WRITE on it"
          end
        end

        def missing(target)
          return if target.created || auto_created?

          known = auto_created?.nil? ? " (or let the brokers: #{AUTO_CREATE} is not known)" : ", the brokers create none (#{AUTO_CREATE})"
          "topic #{target.name} does not exist: create it#{known}"
        end

        def may_not_be_written(topic)
          refusal = Routing::Rights.refusal(:topic, %w[WRITE], topic[:authorized_operations])
          "topic #{topic[:name]} #{refusal}" if refusal
        end

        def too_small(target)
          sources = target.sources.reject { |source| @described.dig(source, :error) }
          largest = sources.max_by { |source| @max_bytes[source] || 0 } or return
          wanted, taken = @max_bytes.values_at(largest, target.name)
          return unless wanted && taken && taken < wanted

          "topic #{target.name} takes messages of #{taken} bytes at most (#{MAX_BYTES}), messages of #{largest} may have #{wanted} " \
            "bytes: larger ones would block their partition; set it to #{wanted + Routing::TopicConfig::HEADER_BYTES}"
        end

        # nil: the brokers do not tell.
        def auto_created?
          return @auto_created if defined?(@auto_created)

          broker = @admin.broker_id(SLICE_MS) # not a topic's leader: at the first start there may be no topic
          value = broker && setting(BROKER, broker.to_s, AUTO_CREATE)
          @auto_created = value && value == "true"
        end

        # nil: the brokers do not tell.
        def setting(type, name, setting)
          report = answer(@admin.describe_configs([{resource_type: type, resource_name: name}])) or return
          report.resources.flat_map(&:configs).find { |config| config.name == setting }&.value
        end

        # nil: there is none, or a refusal.
        def answer(handle)
          handle.wait(max_wait_timeout_ms: SLICE_MS)
        rescue Rdkafka::AbstractHandle::WaitTimeoutError
          retry unless Clock.now > @limit || @give_up.call
        rescue Rdkafka::RdkafkaError
          nil
        end
      end
    end
  end
end
