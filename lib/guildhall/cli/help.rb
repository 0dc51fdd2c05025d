# frozen_string_literal: true

module Guildhall
  class CLI
    # `guildhall help`, and what is shown without a command.
    class Help < Command
      # (see Command.summary)
      def self.summary = "List the commands"

      # @param commands [Array<Class>]
      # @return [String]
      def self.usage(commands)
        width = commands.map { |command| command.command_name.size }.max
        ["usage: guildhall COMMAND [options]   (guildhall COMMAND --help shows the options)", "",
         *commands.map { |command| "  #{command.command_name.ljust(width)}  #{command.summary}" }].join("\n")
      end

      private

      def call(_arguments)
        @out.puts(self.class.usage(@cli.commands))
      end
    end
  end
end
