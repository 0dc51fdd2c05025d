# frozen_string_literal: true

require "optparse"
require_relative "version"
require_relative "errors"
require_relative "suggestion"
require_relative "text_table"
require_relative "cli/command"
require_relative "cli/completion"
require_relative "cli/info"
require_relative "cli/probe"
require_relative "cli/render"

module Guildhall
  # The command line: finds the command, runs it and turns what the user did wrong into one line and exit status 2.
  #
  # A command is a subclass of {Command}. {COMMANDS} has those of this gem. Another gem (guildhall-kafka, guildhall-tools) adds its own by
  # a file `guildhall/NAME/cli.rb` whose module `Guildhall::Name::CLI` answers `commands`.
  # @api private
  class CLI
    COMMANDS = [Completion, Help, Info, Probe, Render, Version].freeze
    # Exit statuses, as shells have them for SIGINT and SIGPIPE.
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    EXTENSION = "the C extension of Guildhall" # in the errors of extension.rb
    # Commands of the gem guildhall-tools, which say so where it is missing.
    TOOLS = %w[advise doctor].freeze
    OUTPUT = "<STDOUT>" # likewise, of the system
    private_constant :INTERRUPTED, :BROKEN_PIPE, :EXTENSION, :TOOLS, :OUTPUT

    def initialize(out: $stdout, err: $stderr)
      @out = out
      @out.sync = true # both outputs often go to one place, and stay in order there
      @err = err
    end

    # @param error [Guildhall::Error] that has ended a command
    # @return [Integer] the exit status
    def self.status(error)
      case error
      when ConfigurationError, UnknownSettingError, MissingDependencyError then ConfigurationError::EXIT_STATUS
      when Guildhall::ArgumentError then 2
      else 1
      end
    end

    # @return [Array<Class>] the commands at hand, by name
    def commands
      (COMMANDS + extensions.flat_map { |folder| from_extension(folder) }).sort_by(&:command_name)
    end

    # Blocks for as long as the command runs.
    # @return [Integer] the exit status: 0 done, 1 failed, 2 wrong usage, 78 wrong configuration, 130 interrupted, 141 output unread, or
    #   what the command says
    def run(arguments)
      # Where LANG names no encoding, Ruby takes them for ASCII.
      name, *rest = arguments.map { |argument| argument.encoding == Encoding::US_ASCII ? argument.dup.force_encoding("UTF-8") : argument }
      status = command(name).new(out: @out, err: @err, cli: self).run(rest)
      status.is_a?(Integer) ? status : 0
    rescue Guildhall::Error => error
      complain(error.message, self.class.status(error))
    rescue Interrupt
      complain("interrupted", INTERRUPTED)
    rescue LoadError => error
      raise unless error.message.include?(EXTENSION) # anything else is the application's

      complain(error.message, 1)
    rescue Errno::ENOSPC => error
      raise unless error.message.include?(OUTPUT)

      complain("standard output: #{Errno::ENOSPC.new.message}", 1)
    rescue Errno::EPIPE
      BROKEN_PIPE # the reader has enough, as in `guildhall lag | head -1`
    end

    # Keeps standard output for the command, from now on: what else this process and those that it starts print there, such as the user's
    # code and its log, goes to standard error.
    # @return [IO] for the command
    def keep_output
      own = @out.dup
      own.sync = true
      @out.reopen($stderr)
      @out = own
    end

    private

    def command(name)
      return Help if name.nil? || ["--help", "-h"].include?(name)
      return Version if ["--version", "-v"].include?(name)

      commands.find { |candidate| candidate.command_name == name } || raise(Guildhall::ArgumentError, unknown(name))
    end

    def unknown(name)
      return "the command #{name} comes with a gem for development: add `gem \"guildhall-tools\"` to the Gemfile" if TOOLS.include?(name)

      hint = Suggestion.for(name, commands.map(&:command_name))
      gem = "; the commands for Kafka come with the gem guildhall-kafka" unless extensions.include?("kafka")
      "no command #{name}#{hint.empty? ? gem : hint}\n#{Help.usage(commands)}"
    end

    # @return [Array<String>] folders of parts and gems that bring commands
    def extensions
      @extensions ||= Gem.find_files("guildhall/*/cli.rb").map { |path| File.basename(File.dirname(path)) }.uniq.sort
    end

    def from_extension(folder)
      require "guildhall/#{folder}/cli"
      Guildhall.const_get(folder.split("_").map(&:capitalize).join)::CLI.commands
    end

    def complain(message, status)
      @err.puts("guildhall: #{message}")
      status
    end
  end
end
