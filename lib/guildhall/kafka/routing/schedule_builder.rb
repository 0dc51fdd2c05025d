# frozen_string_literal: true

require_relative "../scheduling/task"
require_relative "../scheduling/task_consumer"
require_relative "builder"
require_relative "topic_builder"

module Guildhall
  module Kafka
    module Routing
      # The block of `schedule do … end`: its tasks.
      class ScheduleBuilder < Builder
        def self.internal_names = [:build]

        # @param topic [String] the schedule's
        def initialize(topic, group, errors)
          super(errors, "schedule of group #{group}")
          @topic = topic
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

          parsed = Scheduling::Task.cron(cron) or return report("task #{name.inspect}: #{cron.inspect} is not a cron expression, or is never due")
          @tasks << Scheduling::Task.new(name, cron, parsed, missed, block)
        rescue MissingDependencyError => error
          @errors.add(error.message)
        end

        def build
          report("needs a task: task(\"name\", \"0 3 * * *\") { … }") if @tasks.empty?
          builder = TopicBuilder.new(@topic, @group, @errors)
          builder.consumer(Scheduling::TaskConsumer)
          builder.initial_offset("earliest")
          builder.build.with(scheduled_tasks: @tasks.freeze)
        end
      end
    end
  end
end
