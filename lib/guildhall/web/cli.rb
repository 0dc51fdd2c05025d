# frozen_string_literal: true

require "guildhall/kafka/cli" # of another gem: not by relative path
require_relative "cli/web"

module Guildhall
  class Web
    # The command that the gem guildhall-web adds to `guildhall`.
    # @api private
    module CLI
      def self.commands = [Web]
    end
  end
end
