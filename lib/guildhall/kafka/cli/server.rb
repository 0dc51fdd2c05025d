# frozen_string_literal: true

require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall server`: consumes until SIGINT or SIGTERM.
      class Server < ApplicationCommand
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Consume the application's topics until SIGINT or SIGTERM"

        private

        def perform
          Kafka.run
        end
      end
    end
  end
end
