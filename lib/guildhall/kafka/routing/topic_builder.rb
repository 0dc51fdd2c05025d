# frozen_string_literal: true

require "guildhall/pipeline"
require_relative "builder"
require_relative "topic"
require_relative "topic_checks"

module Guildhall
  module Kafka
    module Routing
      # The block of `topic "name" do … end`: each method is a setting. {Topic} and {Filtering::BUILT_IN} declare them, and a method for
      # each is generated. The methods below take other arguments, or do more than to keep them.
      class TopicBuilder < Builder
        # Methods whose keywords are settings.
        KEYWORDS = {deserializers: %i[payload key headers], deserializing: %i[parallel lazy],
                    config: [*TopicConfig::OWN, :'"retention.ms"']}.freeze
        # Where the route does not say what a key is.
        BY_KEY = VirtualPartitions.new(partitioner: :raw_key.to_proc)
        private_constant :KEYWORDS, :BY_KEY

        # Methods that keep what they are given.
        # @api private
        module Generated
          # As text, so that an error about wrong arguments names the setting.
          define = lambda do |name, parameters, body|
            class_eval("def #{name}(#{parameters}) = #{body}", __FILE__, __LINE__) # def max_messages(value) = keep(:max_messages, value)
          end
          Topic.settings.each do |setting|
            next if setting.written

            parameters = setting.default == false ? "value = true" : "value"
            parameters = "**given" if setting.parts
            define.call(setting.name, parameters, "keep(:#{setting.name}, #{parameters[/\w+/]})")
          end
          Filtering::BUILT_IN.each do |filter|
            only = filter.parts.names.first if filter.parts.one?
            define.call(filter.name, only || "**given", "add_built_in(:#{filter.name}, #{only ? "{#{only}:}" : "given"})")
          end
        end
        include Generated

        def initialize(name, group, problems)
          @name = name.is_a?(Symbol) ? name.to_s : name
          super(problems, "topic #{@name.inspect}")
          @group = group
          @settings = {}
        end

        def deserializers(**given)
          given = known(:deserializers, given, KEYWORDS[:deserializers])
          problem = Settings::Rules::DESERIALIZER.problem(given[:payload])
          report("deserializers payload #{problem}") if problem
          deserializer(given[:payload]) if given[:payload] && !problem
          keep(:key_deserializer, given[:key])
          keep(:headers_deserializer, given[:headers])
        end

        def deserializing(**given)
          given = known(:deserializing, given, KEYWORDS[:deserializing])
          keep(:parallel, given[:parallel])
          keep(:lazy, given[:lazy])
        end

        def initial_offset(where) = super(where.to_s)

        def assign(partitions: nil, **unknown)
          known(:assign, unknown, [:partitions])
          keep(:assigned, partitions.is_a?(Hash) ? partitions.dup.freeze : partitions || {})
        end

        # @param active [Boolean] false: without one, also where `defaults` or `active_job_topic` would bring one
        def dead_letter_queue(active = true, **policy) # rubocop:disable Style/OptionalBooleanParameter -- false is all that it says
          unless [true, false].include?(active)
            return report("dead_letter_queue takes topic: and other keywords, or false, not #{active.inspect}")
          end

          @without_dead_letters = !active
          active ? super(**policy) : keep(:dead_letter_queue, nil)
        end

        def retry_topics(*delays, **)
          topics = super(delays: delays.flatten.freeze, **)
          source = @name.is_a?(Regexp) ? @name.inspect : @name
          @settings[:retry_topics] = topics.with(source:, prefix: topics.prefix || retry_prefix)
        end

        def ordering(by = nil, **) = super(by:, **)

        # What it says is added to what `defaults` say.
        # @param given [Hash{Symbol=>Object}] partitions:, replicas: and Kafka's settings of a topic, such as "retention.ms":
        def config(**given)
          before = @settings[:config] || TopicConfig.new
          own = {**before.to_h, **given}.slice(*TopicConfig::OWN)
          keep(:config, {**own, settings: {**before.settings, **given.except(*TopicConfig::OWN).transform_keys(&:to_s)}.freeze})
        end

        def kafka(settings)
          settings = Config::Secrets.hide(settings.transform_keys { |name| name.to_s.scrub.to_sym }).freeze if settings.is_a?(Hash)
          super
        end

        # Filters are called in the order of their settings, with what those before them have left.
        # @param filter [Class, #call, nil] a class whose instances have `call(messages)` (one for each partition, as long as that
        #   is assigned), or an object with `call`, which all partitions share; nil: the block
        def filter(filter = nil, **arguments, &block)
          source = filter || block
          name = (source.is_a?(Class) ? source : source.class).name || "filter"
          add_filter(source.is_a?(Proc) ? "block" : name, source, arguments)
        end

        def build
          @settings[:virtual_partitions] ||= BY_KEY if @settings[:ordering]
          queue = @settings[:dead_letter_queue]
          @settings[:dead_letter_queue] = queue.with(max_retries: @settings[:retry_topics] ? 0 : 3) if queue && queue.max_retries.nil?
          topic = Topic.new(name: @name, group: @group, **@settings)
          TopicChecks.new(topic, @problems).run unless @incomplete
          topic
        end

        private

        # Karafka's routes have it.
        def method_missing(name, *)
          return super unless name == :active

          report("unknown setting active: a topic without a consumer is not consumed; leave out active, or the consumer")
        end

        def respond_to_missing?(_name, _private = false) = false

        def keywords_only(name)
          return unless method(name).parameters == [%i[keyrest given]]

          names = KEYWORDS[name] || (Topic.settings[name] || Filtering::BUILT_IN[name])&.parts&.names
          "takes keywords only: #{names.map { |one| "#{one}:" }.join(", ")}" if names
        end

        def keep(name, value)
          parts = Topic.settings[name].rule if Topic.settings[name].parts && value
          @settings[name] = parts ? parts.new(**known(name, value, parts.settings.names)) : value
        end

        def add_built_in(name, given)
          parts = Filtering::BUILT_IN[name].parts
          add_filter(name.to_s, Filtering::BUILT_IN[name].rule, {**parts.defaults, **known(name, given, parts.names)})
        end

        def add_filter(name, source, arguments)
          @settings[:filters] = [*@settings[:filters], Filter.new(name:, source:, arguments: arguments.freeze)].freeze
        end

        # Adds a dead letter queue, unless the block, or `defaults`, has said something else.
        def dead_letter_queue_of_its_own
          return if @settings[:dead_letter_queue] || @without_dead_letters || @settings[:delivery] == :at_most_once

          dead_letter_queue(topic: "#{@name}.dead", dispatch_undecodable: true)
          @settings[:dead_letter_queue] = @settings[:dead_letter_queue].with(own: true)
        end

        def retry_prefix
          return report('retry_topics of a pattern needs prefix: "NAME.retry"') if @name.is_a?(Regexp)
          return if Settings::Rules::TOPIC_NAME.problem(@name) # which is an error by itself

          name_after(@group, "#{@name}.#{@group}.retry", "retry_topics", "a prefix")
        end
      end
    end
  end
end
