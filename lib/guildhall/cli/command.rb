# frozen_string_literal: true

require "optparse"

module Guildhall
  class CLI
    # A command: its name is its class name in lower case, after that of the {Family} that it is declared in. Subclasses say what they are
    # for in `self.summary`, declare options in {#define_options} and do their work in {#call}.
    class Command
      def self.command_name
        *outer, own = name.split("::")
        family = Object.const_get(outer.join("::"))
        family.is_a?(Class) && family <= Family ? "#{family.command_name} #{own.downcase}" : own.downcase
      end

      # @return [String, nil] what it takes besides its options, for its help, such as "NAME"
      def self.arguments = nil

      # @return [String] one line for the list of commands
      def self.summary
        raise NotImplementedError, "#{name}.summary"
      end

      # @return [Array<String>] fixed words that may follow its name, such as those of an argument: for completion in a shell
      def self.words = []

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

      # @return [Array<String>] such as "--json"
      def long_options = parser.top.long.keys.map { |name| "--#{name}" }

      private

      def parse(arguments)
        parser.parse(arguments, into: @options)
      rescue OptionParser::ParseError => error
        raise Guildhall::ArgumentError, "#{error.reason}: #{shown(error)}#{suggestion(error)} #{see_help}"
      rescue ::ArgumentError => error # OptionParser compares what may be an option
        raise if arguments.all?(&:valid_encoding?)

        raise Guildhall::ArgumentError, "#{error.message}: #{arguments.reject(&:valid_encoding?).map(&:dump).join(" ")} #{see_help}"
      end

      # Without the value of an option that there is not: it may be a password.
      def shown(error) = error.is_a?(OptionParser::InvalidOption) ? error.args.first[/[^=]+/] : error.args.join(" ")

      def suggestion(error)
        Suggestion.for(shown(error), long_options) if error.is_a?(OptionParser::InvalidOption)
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
          options.require_exact = true # --to, of which a command knows nothing, would be its --topic
          usage = ["usage: guildhall", self.class.command_name, *self.class.arguments, "[options]"].join(" ")
          options.banner = "#{usage}\n#{self.class.summary}\n\n"
          options.on("-h", "--help", "show this") # first: notes follow the command's own
          define_options(options)
        end
      end
    end

    # A command that consists of commands, such as `guildhall dlq list`: the classes in `self.commands`, in that order.
    class Family < Command
      # @return [Array<Class>]
      def self.commands
        raise NotImplementedError, "#{name}.commands"
      end

      # (see Command#run)
      def run(arguments)
        name, *rest = arguments
        return @out.puts(usage) if name.nil? || ["-h", "--help", "help"].include?(name)

        named = self.class.commands.to_h { |command| [command.command_name.split.last, command] }
        command = named[name] or
          raise Guildhall::ArgumentError, "no command #{self.class.command_name} #{name}#{Suggestion.for(name, named.keys)}\n#{usage}"
        command.new(out: @out, err: @err, cli: @cli).run(rest)
      end

      private

      def usage
        own = self.class.command_name
        rows = self.class.commands.map { |command| [command.command_name.split.last, command.summary] }
        ["usage: guildhall #{own} COMMAND [options]   (guildhall #{own} COMMAND --help shows the options)", "",
         *TextTable.lines(rows).map { |line| "  #{line}" }].join("\n")
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
