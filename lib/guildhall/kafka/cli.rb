# frozen_string_literal: true

require "guildhall/cli/command" # of another gem: not by relative path
require_relative "errors"
require_relative "cli/server"
require_relative "cli/routes"
require_relative "cli/groups"
require_relative "cli/dlq"
require_relative "cli/schedule"
require_relative "cli/metrics"

module Guildhall
  module Kafka
    # The commands that this gem adds to `guildhall`.
    module CLI
      def self.commands
        [Server, Swarm, Routes, Lag, Dlq, Keys, Schedule, Metrics]
      end
    end
  end
end
