# frozen_string_literal: true

require_relative "../errors"
require_relative "../suggestion"

module Guildhall
  class Template
    # @api private
    # Templates by name, for templates: frozen, shareable. Not a Hash, so that a search for what a template may call does not go
    # through all of them.
    class Partials
      # Of a template that learns what it may render when all of its folder are compiled.
      LATER = Object.new.freeze

      # @raise [Guildhall::ArgumentError]
      def self.of(given)
        return given if given.is_a?(Partials)
        return new({}) if given.nil?
        return given.partials if given.respond_to?(:partials)
        return new(given.to_h { |name, template| [name.to_s, template] }) if given.is_a?(Hash)

        raise Guildhall::ArgumentError, "partials must be a Hash of templates by name, not #{given.class}"
      end

      def initialize(templates)
        wrong = templates.find { |_, template| !template.is_a?(Template) }
        raise Guildhall::ArgumentError, "the partial #{wrong[0]} must be a Guildhall::Template, not #{wrong[1].class}" if wrong

        @templates = Ractor.make_shareable(templates.to_h { |name, template| [name.dup.freeze, template] })
        freeze
      end

      # @raise [Guildhall::ArgumentError] for a name that there is not
      def [](name)
        @templates[name.to_s] || raise(Guildhall::ArgumentError, missing(name))
      end

      def names = @templates.keys

      private

      def missing(name)
        return "no partial #{name}: the template was given none (partials:)" if names.empty?

        hint = Suggestion.for(name, names)
        "no partial #{name}#{hint.empty? ? "; there are #{names.first(10).join(", ")}" : hint}"
      end
    end
  end
end
