# frozen_string_literal: true

module Guildhall
  class YAML
    # Finds the node that Psych could not make an object of: its errors name the class, symbol or value, never its position.
    # @api private
    module Place
      # @param options [Hash{Symbol=>Object}] as for Psych.safe_load, which has failed with them
      # @return [Hash{Symbol=>Integer}] line and column, from 1; empty where this Psych does not let itself be watched
      def self.of(text, permitted_classes:, permitted_symbols:, aliases:, **options)
        loader = Psych::ClassLoader::Restricted.new(permitted_classes.map(&:to_s), permitted_symbols.map(&:to_s))
        type = aliases ? Psych::Visitors::ToRuby : Psych::Visitors::NoAliasRuby
        visitor = type.new(Psych::ScalarScanner.new(loader), loader, **options).extend(self)
        visitor.failing_node(Psych.parse(text))
      rescue StandardError
        {}
      end

      def failing_node(tree)
        accept(tree)
        {}
      rescue StandardError
        @innermost ? {line: @innermost.start_line + 1, column: @innermost.start_column + 1} : {}
      end

      def accept(node)
        super
      rescue StandardError
        @innermost ||= node
        raise
      end
    end
    private_constant :Place
  end
end
