# frozen_string_literal: true

require_relative "../delaying"
require_relative "../scheduling/task"
require_relative "../scheduling/task_consumer"
require_relative "builder"
require_relative "topic_builder"

module Guildhall
  module Kafka
    module Routing
      # The block of `Guildhall::Kafka.routes`, and of `consumer_group "name" do … end` within it.
      class GroupBuilder < Builder
        # What the builders of all groups note. multiplexed: by group; delayed: the names of topics whose messages may be produced for
        # later, by group; undelayed: groups that want no delay topics, nil for all groups.
        Notes = Data.define(:topics, :multiplexed, :delayed, :undelayed)
        DELAY_TOPICS = OptionRules.new(delays: Settings::Rules::ASCENDING_SECONDS, prefix: Settings::Rules::TOPIC_PREFIX)
        private_constant :DELAY_TOPICS, :Notes

        # @param defaults [Array<Proc>] settings that every topic begins with
        # @param notes [Notes, nil] of the builder whose block this group's is within; nil: it is the outermost
        def initialize(group, problems, defaults = [], notes = nil)
          super(problems, "routes")
          @group = group
          @defaults = defaults.dup
          @outer = notes.nil?
          @notes = notes || Notes.new(topics: [], multiplexed: {}, delayed: {}, undelayed: [])
        end

        # @return [Hash{String=>Multiplexing}] by consumer group, where it was set
        def multiplexed = @notes.multiplexed

        # After all blocks. Adds delay topics for messages that need them, unless the routes have some, or want none.
        def build
          topics = @notes.topics
          group = (@notes.delayed.keys - @notes.undelayed).first unless @notes.undelayed.include?(nil)
          add_delay_topics(group) if group && topics.none?(&:delay_topics)
          serves = @notes.delayed.values.flatten.uniq.freeze
          topics.map do |topic|
            topic = topic.with(delay_topics: topic.delay_topics.with(serves:)) if topic.delay_topics
            next topic if topic.assigned # a topic that is read without a group has one reader

            topic.with(multiplexing: multiplexed.fetch(topic.group, Multiplexing::NONE))
          end
        end

        # Settings for every topic that follows in this block.
        def defaults(&block)
          @defaults << block
        end

        def topic(name, **settings, &block)
          if settings.any?
            return report("topic #{name.inspect} takes its settings in a block, not as keywords: " \
                          "topic(#{name.inspect}) { #{settings.keys.first} … }")
          end

          builder = TopicBuilder.new(name, @group, @problems)
          [*@defaults, *block].each { |settings| builder.apply(settings) }
          topic = builder.build
          @notes.topics.push(topic, *(topic.retry_topics.routes(topic) if topic.retry_topics&.named?))
        end

        # The topics that messages of `produce_later` wait in, `PREFIX.SECONDS`. Each process that consumes sends messages on from there.
        # Missing topics are created when the application starts. A message that cannot be sent on goes to `PREFIX.dead`.
        # @param delays [Array<Numeric>] seconds; the first one is the precision of due times. false: `active_job_topic` adds no delay
        #   topics for this `consumer_group`; outside of any: for all groups
        # @param prefix [String, nil] of the topics' names; nil: "GROUP.delay"
        # @param config [Hash{Symbol=>Object}] what the topics are to be at the brokers: as `config` of a topic
        def delay_topics(*delays, prefix: nil, config: {}, **unknown)
          known(:delay_topics, unknown, %i[prefix config])
          return @notes.undelayed << (@outer ? nil : @group) if delays == [false]

          add_delay_topics(@group, delays, prefix, config)
        end

        # Tasks that recur, each once per due time in all processes of the group. Their topic keeps which of them have run; it is compacted,
        # and created when the application starts.
        # @param topic [String, nil] nil: "GROUP.schedule"
        # @param config [Hash{Symbol=>Object}] what the topic is to be at the brokers: as `config` of a topic. It has one partition, and is
        #   compacted, in any case
        def schedule(topic: nil, config: {}, **unknown, &block)
          known(:schedule, unknown, %i[topic config])
          return report("schedule needs a block with its tasks") unless block

          topic ||= name_after(@group, "#{@group}.schedule", "schedule", "a topic", Settings::Rules::TOPIC_NAME) or return

          builder = ScheduleBuilder.new(topic, @group, @problems, config)
          builder.apply(block)
          @notes.topics << builder.build
        end

        # Every topic whose name matches, also those that are created later.
        def pattern(expression, &)
          report("pattern #{expression.inspect} must be a Regexp") unless expression.is_a?(Regexp)
          topic(expression, &)
        end

        # How many members of this consumer group each process has, so that several threads read, and decode there on several cores. Topics
        # with librdkafka settings of their own have as many members of their own.
        # @param size [Integer, Range<Integer>] with a Range the lag decides: one more when this process was behind for `grow_after`, one
        #   less when it has been caught up for `shrink_after`; never more than it has partitions
        # @param options [Hash{Symbol=>Numeric}] the settings of {Multiplexing}
        def multiplexing(size, **options)
          problems = Multiplexing.errors(size, options)
          problems << "is set twice" if multiplexed.key?(@group)
          problems.each { |problem| report("group #{@group}: multiplexing #{problem}") }
          multiplexed[@group] = problems.any? ? Multiplexing::NONE : Multiplexing.new(size:, **options)
        end

        # With `segments`, so many groups, `NAME.0` and on, consume the same topics, and each message is consumed by one of them: one
        # partition's keys are divided among several members, which may be in several processes. Each group reads all messages.
        # @param segments [Integer, nil] from 2 to 1,000
        # @param segment_by [#call, nil] called with a message, before its payload is decoded; messages with equal answers belong to one
        #   segment. nil: its key, or its offset where it has none
        def consumer_group(name, segments: nil, segment_by: nil, **unknown, &block)
          known("consumer_group #{name.to_s.inspect}", unknown, %i[segments segment_by])
          return report("consumer_group #{name.to_s.inspect} needs a block with its topics") unless block

          name = name.to_s if name.is_a?(Symbol)
          rule = Settings::Rules::NAME
          return report("consumer_group needs a name, not #{name.inspect}: #{rule.expected}") if rule.problem(name)

          return GroupBuilder.new(name, @problems, @defaults, @notes).apply(block) if segments.nil? && segment_by.nil?

          problems = Filtering::Segment::RULES.errors({segments:, segment_by:})
          return problems.each { |problem| report("consumer_group #{name.inspect}: #{problem}") } if problems.any?

          segments.times { |number| segment(name, {number:, segments:, by: segment_by}, block) }
        end

        private

        def segment(name, arguments, block)
          own = proc { filter(Filtering::Segment, **arguments) }
          GroupBuilder.new("#{name}.#{arguments[:number]}", @problems, [*@defaults, own], @notes).apply(block)
        end

        # For routes whose messages may be produced for later.
        def delay_topics_for(*names)
          (@notes.delayed[@group] ||= []).concat(names.map(&:to_s))
        end

        def add_delay_topics(group, delays = [], prefix = nil, config = {})
          delays = Delaying::DelayTopics::DEFAULT if delays.empty?
          prefix ||= name_after(group, "#{group}.delay", "delay_topics", "a prefix")
          problems = DELAY_TOPICS.errors({delays:, prefix:}.compact, prefix: "delay_topics ")
          return problems.each { |problem| report(problem) } if problems.any? || prefix.nil?

          delay_topics = Delaying::DelayTopics.new(prefix:, delays: delays.freeze)
          delays.each { |delay| @notes.topics << delay_route(delay_topics, delay, group, config) }
        end

        def delay_route(delay_topics, delay, group, config)
          due = Filter.new(name: "delay", source: Delaying::DueFilter, arguments: {seconds: delay}.freeze)
          builder = TopicBuilder.new(delay_topics.name(delay), group, @problems)
          builder.consumer(Delaying::Forwarder)
          builder.initial_offset("earliest")
          builder.dead_letter_queue(topic: delay_topics.dead_letters)
          builder.config(**config) if config.any?
          builder.build.with(delay_topics:, filters: [due].freeze)
        end
      end

      # The block of `schedule do … end`: its tasks.
      class ScheduleBuilder < Builder
        def initialize(topic, group, problems, config)
          super(problems, "schedule of group #{group}")
          @topic = topic
          @config = config
          @group = group
          @tasks = []
        end

        # The block runs once per due time, in the process that has the schedule's partition.
        # @param name [String, Symbol] unique in the application
        # @param cron [String] "0 3 * * * Europe/Berlin", "every 5 minutes"; with six fields the first is seconds. Without a time zone:
        #   the process's
        # @param missed [Symbol] what becomes of due times that passed while no process ran, and of runs that a crash has cut
        #   off: :run_once, the last one is made up for; :skip
        def task(name, cron, missed: :run_once, **unknown, &block)
          name = name.to_s
          known("task #{name.inspect}", unknown, [:missed])
          problems = Scheduling::Task::RULES.errors({name:, cron:, missed:, block:})
          return problems.each { |problem| report("task #{name.inspect}: #{problem}") } if problems.any?

          parsed = Scheduling::Task.cron(cron)
          return report("task #{name.inspect}: #{cron.inspect} is not a cron expression, or is never due") unless parsed

          @tasks << Scheduling::Task.new(name, cron, parsed, missed, block)
        rescue MissingDependencyError => error
          @problems.add(error.message)
        end

        def build
          report("needs a task: task(\"name\", \"0 3 * * *\") { … }") if @tasks.empty?
          builder = TopicBuilder.new(@topic, @group, @problems)
          builder.consumer(Scheduling::TaskConsumer)
          builder.initial_offset("earliest")
          builder.config(**@config) if @config.any?
          builder.build.with(scheduled_tasks: @tasks.freeze)
        end
      end
    end
  end
end
