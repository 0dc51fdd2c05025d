# frozen_string_literal: true

require "guildhall/cli/command" # of another gem: not by relative path
require_relative "cli/advise"
require_relative "cli/doctor"

module Guildhall
  module Tools
    # The commands that the gem guildhall-tools adds to `guildhall`.
    # @api private
    module CLI
      def self.commands = [Advise, Doctor]
    end
  end
end
