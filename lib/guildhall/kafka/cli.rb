# frozen_string_literal: true

require "guildhall/cli/command" # of another gem: not by relative path
require_relative "cli/server"
require_relative "cli/routes"

module Guildhall
  module Kafka
    # The commands that this gem adds to `guildhall`.
    module CLI
      # @return [Array<Class>]
      def self.commands
        [Server, Routes]
      end
    end
  end
end
