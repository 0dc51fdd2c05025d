# frozen_string_literal: true

module Guildhall
  module Kafka
    module Scheduling
      # One task, for people.
      #
      # @!attribute [r] topic
      #   @return [Routing::Topic] the schedule's
      # @!attribute [r] run
      #   @return [State::Run, nil] the last one; nil: none yet
      Status = Data.define(:task, :topic, :enabled, :run) do
        # @return [Time, nil] nil: it is disabled
        def next_due(now = Time.now) = enabled ? Time.at(task.next_due(now.to_f)) : nil

        # @return [Time, nil] the last due time
        def last_due = run && run.state != :added ? Time.at(run.due) : nil
      end
    end
  end
end
