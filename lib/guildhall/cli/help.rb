# frozen_string_literal: true

module Guildhall
  class CLI
    # `guildhall help`, what is shown without a command, and `guildhall help COMMAND`.
    class Help < Command
      # (see Command.summary)
      def self.summary = "List the commands; help COMMAND shows the options of one"

      def self.usage(commands)
        ["usage: guildhall COMMAND [options]   (guildhall COMMAND --help shows the options)", "",
         *TextTable.lines(commands.map { |command| [command.command_name, command.summary] }).map { |line| "  #{line}" }].join("\n")
      end

      private

      def define_options(options)
        options.banner = "usage: guildhall help [COMMAND]\n#{self.class.summary}\n\n"
      end

      # A command may have commands of its own: `guildhall help dlq list`.
      def arity = 2

      def call(arguments)
        return @cli.run([*arguments, "--help"]) if arguments.any?

        @out.puts(self.class.usage(@cli.commands))
      end
    end
  end
end
