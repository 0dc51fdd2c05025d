# frozen_string_literal: true

require "guildhall/suggestion"

class Bench
  # What the user did wrong: one line, and exit status 2.
  module Usage
    class << self
      # Ends the process.
      # @param message [String]
      def refuse(message)
        warn("bin/bench: #{message}")
        exit(2)
      end

      # @param arguments [Array<String>]
      # @param kind [String] of thing that is named
      # @param known [Array<String>] all of them
      # @param options [Array<String>] that there are
      # @return [Array(Array<String>, Array<String>)] the names and the options; ends the process where one is not known
      def parse(arguments, kind, known, options)
        given, names = arguments.partition { |argument| argument.start_with?("-") }
        (given - options).each { |option| refuse("unknown #{option}; there are #{options.join(" and ")}") }
        (names - known).each { |name| refuse("no #{kind} #{name}#{Guildhall::Suggestion.for(name, known)}; there are #{known.sort.join(", ")}") }
        [names, given]
      end
    end
  end
end
