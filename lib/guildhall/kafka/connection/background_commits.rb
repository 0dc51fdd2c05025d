# frozen_string_literal: true

require "guildhall/growing_pauses"

module Guildhall
  module Kafka
    module Connection
      # Commits in the background, and reports what has become of it as soon as the broker has answered: if only the next commit looked,
      # each would seem to take as long as the time between two. Used by any thread.
      class BackgroundCommits
        FIRST_LOOK_SECONDS = 0.002 # after a commit; the pauses between two looks grow with the time that it takes
        private_constant :FIRST_LOOK_SECONDS

        def initialize(application, group)
          @application = application
          @group = group
          @pauses = GrowingPauses.new(FIRST_LOOK_SECONDS, application.config.commit_interval)
        end

        # Does not block.
        def start(client)
          report(client, client.commit_soon)
          look_later(client, nil)
        end

        private

        # Until the next commit, which looks as well.
        def look_later(client, last_pause)
          return unless client.committing? && @application.listening?("offsets.committed")

          pause = @pauses.after(last_pause)
          return unless pause < @pauses.longest

          @application.timer.after(pause) do
            report(client, client.look_for_answer)
            look_later(client, pause)
          end
        end

        def report(client, error)
          @application.error(error, "commit", group: @group) if error
          client.answered_commits.each { |code, seconds| @application.publish("offsets.committed", group: @group, seconds:, error: code) }
        end
      end
    end
  end
end
