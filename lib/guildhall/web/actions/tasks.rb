# frozen_string_literal: true

module Guildhall
  class Web
    # @api private
    module Actions
      # What can be done with a scheduled task: by a record in the schedule's topic, which its processes read. Nothing runs in this process.
      class Task < Action
        def target = names.fetch(:task)
        def crumbs = {"Schedule" => ["schedule"], target => ["schedule"]}

        private

        # @return [Kafka::Scheduling::Status]
        def status
          cluster.tasks.find { |status| status.task.name == target } or
            raise Forms::Refused.new("there is no task #{target}.", 404)
        end

        def plan_of(verb, **)
          Plan.new(title: "#{verb} #{target}", subject: "Task #{target} of group #{status.topic.group}", back: ["schedule"],
            expect: {enabled: status.enabled}, **)
        end

        def done(note) = Done.new(note:, path: ["schedule"])
      end

      # Lets it run now, in the process that has the schedule.
      class RunTask < Task
        WAITS = "It was asked for, or runs, already."
        DISABLED = "It is disabled. This one run is done all the same."
        private_constant :WAITS, :DISABLED

        def name = :run_task

        def plan
          waits = %i[asked running].include?(status.asked&.state)
          plan_of("Run", button: "Run #{target} now", warnings: [*(WAITS if waits), *(DISABLED unless status.enabled)],
            says: ["The process that consumes this schedule runs it now, once. Its due times stay as they are.",
                   "If no process takes it within a minute, it does not run."])
        end

        def perform(order)
          @web.application.run_task(target, by: order.by, id: order.id)
          done("#{target} was asked for: the process that consumes the schedule runs it.")
        end
      end

      # Lets processes run it, or none.
      class SwitchTask < Task
        def name = :switch_task

        def plan
          return plan_of(verb, says: ["It is #{switched} already."]) if status.enabled == enabled

          plan_of(verb, button: "#{verb} #{target}", says:)
        end

        def perform(order)
          raise Forms::Refused, "somebody has #{switched} #{target} meanwhile." unless status.enabled == order.expect["enabled"]

          @web.application.switch_task(target, enabled)
          done("#{target} is #{switched}.")
        end

        private

        def switched = "#{verb.downcase}d"
      end

      # Lets no process run it any more.
      class DisableTask < SwitchTask
        private

        def verb = "Disable"
        def enabled = false

        def says
          ["No process runs it from now on, until it is enabled again. Due times that pass meanwhile are not made up for.",
           "A run that has begun goes on."]
        end
      end

      # Lets processes run it again.
      class EnableTask < SwitchTask
        private

        def verb = "Enable"
        def enabled = true
        def says = ["It runs again from its next due time on. Due times that have passed are not made up for."]
      end
    end
  end
end
