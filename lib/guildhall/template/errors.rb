# frozen_string_literal: true

require_relative "../errors"
require_relative "../printable"
require_relative "../suggestion"

module Guildhall
  # A template raised, or is not valid Ruby. The cause is what it raised; the message ends with the lines around the place.
  class TemplateError < StandardError
    include Error

    # @return [String] the template's file, or what it was named
    attr_reader :template
    # @return [Integer, nil] the template's line, from 1
    attr_reader :line
    # @return [String, nil] the lines around it, numbered
    attr_reader :excerpt

    REASON_CHARACTERS = 1000
    private_constant :REASON_CHARACTERS

    # @api private
    # @param error [Exception] what the template has raised
    # @param names [Array<Symbol>] its locals
    def self.of(error, source, names)
      own = "#{source.name}:"
      line = error.backtrace&.find { |entry| entry.start_with?(own) }&.delete_prefix(own).to_i
      located = new("#{error.class}: #{words(error)}#{hint(error, names)}", source, line.positive? ? line : nil)
      located.set_backtrace(error.backtrace)
      located
    end

    # An exception's own methods may raise in turn.
    def self.words(error)
      Printable.words(error.message.to_s, REASON_CHARACTERS)
    rescue StandardError => error
      "(its message raised #{error.class})"
    end

    def self.hint(error, names)
      Suggestion.for(error.name, names) if error.instance_of?(NameError) && error.name
    end
    private_class_method :words, :hint

    # @api private
    def initialize(reason, source, line)
      @template = source.name
      @line = line
      @excerpt = line && source.excerpt(line)
      super(["#{reason} (#{[@template, line].compact.join(":")})", excerpt].compact.join("\n"))
    end
  end
end
