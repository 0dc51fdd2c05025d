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
           enabled: status.enabled, state: state.name, kind: KINDS.fetch(state, "idle"), last_due: time(status.last_due),
           next_due: time(status.next_due), by: status.run&.by, error: status.run&.error}
        end
      end
    end
  end
end
