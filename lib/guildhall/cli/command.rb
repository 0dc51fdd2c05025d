# frozen_string_literal: true

require "optparse"

module Guildhall
  class CLI
    # A command: its name is its class name in lower case. Subclasses say what they are for in `self.summary`, declare
    # options in {#define_options} and do their work in {#call}.
    class Command
      def self.command_name
        name.split("::").last.downcase
      end

      # @return [String] one line for the list of commands
      def self.summary
        raise NotImplementedError, "#{name}.summary"
      end

      def initialize(out:, err:, cli:)
        @out = out
        @err = err
        @cli = cli
        @options = {}
      end

      # @param arguments [Array<String>] without the command's name
      # @return [Integer, nil] exit status; nil is 0
      # @raise [Guildhall::ArgumentError]
      def run(arguments)
        rest = parse(arguments)
        return @out.puts(parser) if @options[:help]

        refuse(rest[arity]) if rest.size > arity
        call(rest)
      end

      private

      def parse(arguments)
        parser.parse(arguments, into: @options)
      rescue OptionParser::ParseError => error
        raise Guildhall::ArgumentError, "#{error.reason}: #{error.args.join(" ")}#{suggestion(error)} #{see_help}"
      end

      def suggestion(error)
        return unless error.is_a?(OptionParser::InvalidOption)

        Suggestion.for(error.args.first[/[^=]+/], parser.top.long.keys.map { |name| "--#{name}" })
      end

      def refuse(argument)
        raise Guildhall::ArgumentError, "unexpected argument: #{argument} #{see_help}"
      end

      def see_help = "(guildhall #{self.class.command_name} --help)"

      # @return [Integer] how many arguments it takes besides its options
      def arity = 0

      # @param hash [Hash] as one line of JSON
      def print_json(hash)
        require "guildhall/json"
        @out.puts(Guildhall::JSON.encode(hash))
      end

      # A bar is drawn where somebody looks, by a gem that the user has; `--[no-]progress` decides otherwise.
      # @return [String, nil] for the option `progress` of a pool
      def progress(title)
        return if @options[:progress] == false
        return title if @options[:progress]

        title if $stderr.tty? && ::Gem::Specification.find_all_by_name("ruby-progressbar").any?
      end

      def define_options(_options); end

      def call(_arguments)
        raise NotImplementedError, "#{self.class}#call"
      end

      def parser
        @parser ||= OptionParser.new do |options|
          options.program_name = "guildhall"
          options.version = Guildhall::VERSION
          options.banner = "usage: guildhall #{self.class.command_name} [options]\n#{self.class.summary}\n\n"
          options.on("-h", "--help", "show this") # first: notes follow the command's own
          define_options(options)
        end
      end
    end

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

    # `guildhall version`
    class Version < Command
      # (see Command.summary)
      def self.summary = "Print Guildhall's version"

      private

      def call(_arguments)
        @out.puts("guildhall #{Guildhall::VERSION}")
      end
    end
  end
end
