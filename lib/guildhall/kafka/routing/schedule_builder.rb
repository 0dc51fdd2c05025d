# frozen_string_literal: true

require_relative "../scheduling/task"
require_relative "../scheduling/task_consumer"
require_relative "block"
require_relative "topic_builder"

module Guildhall
  module Kafka
    module Routing
      # The block of `schedule do … end`: its tasks.
      class ScheduleBuilder
        include Block

        # @param topic [String] the schedule's
        def initialize(topic, group, errors)
          @topic = topic
          @group = group
          @errors = errors
          @tasks = []
        end

        # @param block [Proc] tasks
        def apply(block)
          evaluate(block, [__FILE__]) { |error| @errors.add("schedule of group #{@group}: #{error}") }
        end

        # The block runs once per due time, in the process that has the schedule's partition.
        # @param name [String, Symbol] unique in the application
        # @param cron [String] "0 3 * * * Europe/Berlin", "every 5 minutes"; with six fields the first is seconds. Without a time zone:
        #   the process's
        # @param missed [Symbol] what becomes of due times that passed while no process ran, and of runs that a crash has cut
        #   off: :run_once, the last one is made up for; :skip
        def task(name, cron, missed: :run_once, **unknown, &block)
          name = name.to_s
          unknown.each_key { |key| report(name, OptionRules.unknown("keyword #{key}", key, [:missed])) }
          problems = Scheduling::Task::RULES.errors({name:, cron:, missed:, block:})
          return problems.each { |problem| report(name, problem) } if problems.any?

          parsed = Scheduling::Task.cron(cron) or return report(name, "#{cron.inspect} is not a cron expression, or is never due")
          @tasks << Scheduling::Task.new(name, cron, parsed, missed, block)
        rescue MissingDependencyError => error
          @errors.add(error.message)
        end

        def build
          @errors.add("schedule of group #{@group}: needs a task: task(\"name\", \"0 3 * * *\") { … }") if @tasks.empty?
          builder = TopicBuilder.new(@topic, @group, @errors)
          builder.consumer(Scheduling::TaskConsumer)
          builder.initial_offset("earliest")
          builder.build.with(scheduled_tasks: @tasks.freeze)
        end

        private

        def report(name, text)
          @errors.add("schedule of group #{@group}: task #{name.inspect}: #{text}")
        end

        def method_missing(name, *)
          @errors.add("schedule of group #{@group}: #{OptionRules.unknown("setting #{name}", name, [:task])}")
        end

        def respond_to_missing?(_name, _private = false) = false
      end
    end
  end
end
