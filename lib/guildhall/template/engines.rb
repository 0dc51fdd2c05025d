# frozen_string_literal: true

require_relative "../errors"
require_relative "../soft_dependency"
require_relative "../suggestion"

module Guildhall
  class Template
    # @api private
    # What makes Ruby of templates. An engine answers `call(text, escape:, trim_mode:)` with Ruby that writes to the variable
    # {Compiler::BUFFER}, a line for each line of the text. Escaping is ours everywhere: what gems bring for it, not all Rubies
    # let a worker call.
    module Engines
      NAMES = %i[erb erubi haml slim].freeze

      # @raise [Guildhall::ArgumentError] for an engine that there is not
      # @raise [MissingDependencyError] naming the gem to add
      def self.[](name)
        case name
        when :erb, :erubi, :haml, :slim then require_relative "engines/#{name}"
        else raise Guildhall::ArgumentError, "no engine #{name.inspect}#{Suggestion.for(name, NAMES)}; there are #{NAMES.join(", ")}"
        end
        const_get(name.capitalize)
      end

      # `<%= helper do |x| %> … <% end %>`, as Rails has it: an assignment takes a value whose block ends in another tag.
      module BlockExpression
        BEGINS = /(?:(?:\s|\))do|\{)\s*(?:\|[^|]*\|)?\s*\z/
        private_constant :BEGINS

        # @param code [String] of one tag
        # @return [Boolean] whether a block begins in it, and ends elsewhere
        def self.begins?(code) = BEGINS.match?(code)

        # @param writer [String] :guildhall_append or :guildhall_escape
        # @return [String] that code, with what it answers written
        def self.write(writer, code) = "self.#{writer} = #{code}"
      end
    end
  end
end
