# frozen_string_literal: true

require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall routes`: prints what is consumed by whom.
      class Routes < ApplicationCommand
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Print the application's consumer groups, topics and consumers"

        private

        def perform
          @out.puts(Kafka.routes.to_s)
        end
      end
    end
  end
end
