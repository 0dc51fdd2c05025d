# frozen_string_literal: true

require_relative "../shared_regexp"
require_relative "pattern/error"
require_relative "pattern/nodes"
require_relative "pattern/characters"
require_relative "pattern/properties"
require_relative "pattern/parser"
require_relative "pattern/references"
require_relative "pattern/writer"

module Guildhall
  class Schema
    # Regular expressions of ECMA-262 (with the flag u) as Ruby's: read into a tree, and written so that they match the same texts.
    # What Ruby cannot express is refused.
    #
    # Beside the syntax of the flag u, a few forms are read that browsers accept without it and that have one meaning only: `{`, `}` and
    # `]` for themselves, an escape of punctuation (`\-`, `\@`, `\_`), and a hyphen beside an escape in a class (`[\w-.]`).
    module Pattern
      # The format "regex".
      module Format
        def self.call(source)
          Pattern.compile(source)
          true
        rescue Error
          false
        end
      end

      # @param timeout [Numeric, nil] seconds a match may take; nil: as long as Regexp.timeout says
      # @return [Regexp] frozen, and shareable
      # @raise [Error]
      def self.compile(source, timeout: nil)
        Ractor.make_shareable(SharedRegexp.of(translate(source), timeout:))
      rescue RegexpError => error
        raise Error, "Ruby cannot express it (#{error.message[/\A[^:\n]*/u]}): #{source.inspect}"
      end

      # @return [String] for Regexp.new
      # @raise [Error]
      def self.translate(source)
        tree, names = Parser.new(source).parse
        Writer.new(References.new(tree, names, source)).write(tree)
      end
    end
  end
end
