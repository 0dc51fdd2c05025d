# frozen_string_literal: true

require "guildhall/suggestion"
require_relative "dlq/list"
require_relative "dlq/replay"

module Guildhall
  module Kafka
    module CLI
      # `guildhall dlq`: lists and replays dead letters.
      class Dlq < Guildhall::CLI::Command
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "List and replay dead letters"

        # (see Guildhall::CLI::Command#run)
        def run(arguments)
          name, *rest = arguments
          return @out.puts(usage) if name.nil? || ["-h", "--help", "help"].include?(name)

          action = actions[name] || raise(Guildhall::ArgumentError, "no command dlq #{name}#{Suggestion.for(name, actions.keys)}\n#{usage}")
          action.new(out: @out, err: @err, cli: @cli).run(rest)
        end

        private

        def actions = {"list" => List, "replay" => Replay}

        def usage
          ["usage: guildhall dlq COMMAND [options]   (guildhall dlq COMMAND --help shows the options)", "",
           *actions.map { |name, action| "  #{name.ljust(6)}  #{action.summary}" }].join("\n")
        end
      end
    end
  end
end
