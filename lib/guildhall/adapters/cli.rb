# frozen_string_literal: true

require "guildhall/cli/command" # of another gem: not by relative path
require_relative "cli/metrics"

module Guildhall
  module Adapters
    # The commands that the adapters add to `guildhall`.
    module CLI
      def self.commands = [Metrics]
    end
  end
end
