# frozen_string_literal: true

require_relative "command"

module Guildhall
  class CLI
    # `guildhall completion`: prints a script that completes commands and options in a shell. It is made of the commands that are installed
    # when it is printed, and static: the shell asks nobody while somebody types.
    class Completion < Command
      SHELLS = %w[bash zsh].freeze
      NOTES = <<~TEXT

        bash: add to ~/.bashrc   source <(guildhall completion bash)
        zsh:  add to ~/.zshrc    source <(guildhall completion zsh)     (after compinit)
              or, once:          guildhall completion zsh > "${fpath[1]}/_guildhall"

        Print it again after an update. With Bundler: bundle exec guildhall completion bash > FILE, and source that.
      TEXT
      private_constant :NOTES

      # (see Command.summary)
      def self.summary = "Print a script that completes commands and options in bash or zsh"

      # (see Command.words)
      def self.words = SHELLS

      private

      def arity = 1

      def define_options(options)
        options.banner = "usage: guildhall completion #{SHELLS.join("|")}\n#{self.class.summary}\n\n"
        options.separator(NOTES)
      end

      def call(arguments)
        shell = arguments.first || File.basename(ENV.fetch("SHELL", ""))
        unless SHELLS.include?(shell)
          raise Guildhall::ArgumentError, "for which shell? One of #{SHELLS.join(", ")}#{Suggestion.for(shell, SHELLS)} #{see_help}"
        end

        @out.puts(shell == "bash" ? bash : zsh)
      end

      # @return [Hash{String=>Array<Array(String, String)>}] words that may follow a command ("": none yet), with what each is for, nil:
      #   nothing is said
      def tree
        commands = @cli.commands
        {"" => named(commands), **commands.flat_map { |command| branch(command) }.to_h,
         "help" => named(commands)}
      end

      def branch(command)
        return [[command.command_name, leaf(command)]] unless command <= Family

        [[command.command_name, named(command.commands)], *command.commands.map { |one| [one.command_name, leaf(one)] }]
      end

      def named(commands) = commands.map { |command| [command.command_name.split.last, command.summary] }
      def leaf(command) = [*command.words, *command.new(out: @out, err: @err, cli: @cli).long_options].map { |word| [word, nil] }
      def families = @cli.commands.select { |command| command <= Family }.map(&:command_name)

      def bash
        cases = tree.map { |place, words| "    #{quoted(place)}) words=#{quoted(words.map(&:first).join(" "))} ;;" }
        <<~BASH
          # Completes guildhall #{VERSION} in bash: source this file.
          _guildhall() {
            local word="${COMP_WORDS[COMP_CWORD]}" place="" words=""
            [ "$COMP_CWORD" -gt 1 ] && place="${COMP_WORDS[1]}"
            case "$place" in
              #{families.map { |name| quoted(name) }.join("|")}) [ "$COMP_CWORD" -gt 2 ] && place="$place ${COMP_WORDS[2]}" ;;
            esac
            case "$place" in
          #{cases.join("\n")}
            esac
            COMPREPLY=($(compgen -W "$words" -- "$word"))
          }
          complete -o default -F _guildhall guildhall
        BASH
      end

      def zsh
        cases = tree.map do |place, words|
          found = words.map { |word| quoted(word.compact.map { |part| part.gsub(":", "\\:") }.join(":")) }
          "    #{quoted(place)}) found=(#{found.join(" ")}) ;;"
        end
        <<~ZSH
          #compdef guildhall
          # Completes guildhall #{VERSION} in zsh: source this file after compinit, or keep it as _guildhall in a folder of $fpath.
          _guildhall() {
            local place=""
            local -a found
            (( CURRENT > 2 )) && place="$words[2]"
            case "$place" in
              #{families.map { |name| quoted(name) }.join("|")}) (( CURRENT > 3 )) && place="$place $words[3]" ;;
            esac
            case "$place" in
          #{cases.join("\n")}
            esac
            (( $#found )) && _describe guildhall found
            [[ -z "$place" || "$words[CURRENT]" == -* ]] || _files
          }
          if [[ "$funcstack[1]" == _guildhall ]]; then _guildhall "$@"; else compdef _guildhall guildhall; fi
        ZSH
      end

      def quoted(text) = "'#{text.gsub("'", "'\\\\''")}'"
    end
  end
end
