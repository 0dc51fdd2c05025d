# frozen_string_literal: true

require_relative "../growing_pause"

module Guildhall
  module Kafka
    module Connection
      # Commits in the background, and reports what has become of it as soon as the broker has answered: if only the next commit looked,
      # each would seem to take as long as the time between two. Used by any thread.
      class BackgroundCommits
        FIRST_LOOK_SECONDS = 0.002 # after a commit; the pauses between two looks grow with the time that it takes
        private_constant :FIRST_LOOK_SECONDS

        # @param application [Application]
        # @param group [String]
        def initialize(application, group)
          @application = application
          @group = group
        end

        # Does not block.
        # @param client [Client]
        # @return [void]
        def start(client)
          report(client, client.commit_soon)
          look_later(client, GrowingPause.new(FIRST_LOOK_SECONDS..@application.config.commit_interval))
        end

        private

        # Until the next commit, which looks as well.
        def look_later(client, pause)
          return unless client.committing? && @application.listening?("offsets.committed")
          return unless pause.length < @application.config.commit_interval

          @application.timer.after(pause.grow) do
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
