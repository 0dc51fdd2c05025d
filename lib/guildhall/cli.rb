# frozen_string_literal: true

require "optparse"
require_relative "version"
require_relative "errors"
require_relative "cli/command"
require_relative "cli/help"
require_relative "cli/info"
require_relative "cli/version"

module Guildhall
  # The command line: finds the command, runs it and turns what the user did wrong into one line and exit status 2.
  #
  # A command is a subclass of {Command}. Those of this gem stand here; another gem adds its own by having a file
  # `guildhall/NAME/cli.rb` whose module `Guildhall::Name::CLI` answers `commands`.
  class CLI
    COMMANDS = [Help, Info, Version].freeze
    # Parts that may bring commands, by the name of their folder and module.
    EXTENSIONS = {"kafka" => :Kafka}.freeze

    # @param out [IO]
    # @param err [IO]
    def initialize(out: $stdout, err: $stderr)
      @out = out
      @err = err
    end

    # @return [Array<Class>] the commands at hand, by name
    def commands
      (COMMANDS + EXTENSIONS.flat_map { |folder, name| from_extension(folder, name) }).sort_by(&:command_name)
    end

    # Blocks for as long as the command runs.
    # @param arguments [Array<String>]
    # @return [Integer] the exit status: 0 done, 1 failed, 2 wrong usage, or what the command says
    def run(arguments)
      name, *rest = arguments
      status = command(name).new(out: @out, err: @err, cli: self).run(rest)
      status.is_a?(Integer) ? status : 0
    rescue OptionParser::ParseError, Guildhall::ArgumentError => error
      complain(error.message, 2)
    rescue Guildhall::Error => error
      complain(error.message, 1)
    end

    private

    def command(name)
      return Help if name.nil? || ["--help", "-h"].include?(name)
      return Version if ["--version", "-v"].include?(name)

      commands.find { |candidate| candidate.command_name == name } || raise(Guildhall::ArgumentError, unknown(name))
    end

    def unknown(name)
      names = commands.map(&:command_name)
      hint = DidYouMean::SpellChecker.new(dictionary: names).correct(name).first
      gem = "; it comes with the gem guildhall-kafka" if !hint && %w[server routes].include?(name)
      "no command #{name}#{hint ? "; did you mean #{hint}?" : gem}\n#{Help.usage(commands)}"
    end

    def from_extension(folder, name)
      require "guildhall/#{folder}/cli"
      Guildhall.const_get(name)::CLI.commands
    rescue LoadError => error
      raise unless error.path == "guildhall/#{folder}/cli"

      []
    end

    def complain(message, status)
      @err.puts("guildhall: #{message}")
      status
    end
  end
end
