# frozen_string_literal: true

require_relative "failure"

module Guildhall
  class Web
    module Pages
      # The application's scheduled tasks, with what has become of each.
      class Schedule < Page
        KINDS = {done: "ok", failed: "bad", running: "warn"}.freeze
        private_constant :KINDS

        private

        def title = "Schedule"
        def data = {tasks: cluster.tasks.map { |status| task(status) }}

        def task(status)
          state = status.run&.state || :added
          {name: status.task.name, group: status.topic.group, cron: status.task.expression, missed: status.task.missed.to_s,
           enabled: status.enabled, state: state.name, kind: status.enabled ? KINDS.fetch(state, "idle") : "rest",
           last_due: time(status.last_due), next_due: time(status.next_due),
           **by(status.run&.by), error: status.run&.error,
           asked: asked(status.asked),
           may: may(status.task.name, :switch_task, :run_task)}
        end

        # @param name [String, nil] of the process that has run it
        def by(name)
          known = reports.process(name)
          {by: name, process: known&.name, short: known && reports.label(name)}
        end

        # @param run [Kafka::Scheduling::State::Run, nil]
        def asked(run)
          return if run.nil?

          {state: taken?(run) ? run.state.name : "taken by no process", at: time(Time.at(run.at)), by: run.by, error: run.error}
        end

        def taken?(run)
          run.state != :skipped && !(run.state == :asked && Time.now.to_f - run.due > Kafka::Scheduling::Task::GRACE_SECONDS)
        end
      end
    end
  end
end
