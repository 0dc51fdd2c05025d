# frozen_string_literal: true

module Guildhall
  class YAML
    # Hears of lists and mappings before any object is made of them. Psych itself recurses as deep as a text says, until the
    # stack ends, which depends on where it runs; and it cannot freeze a node that contains itself.
    # @api private
    class Outline < Psych::Handler
      # @param text [String]
      # @param max_nesting [Integer]
      # @raise [DecodeError] with line and column
      # @raise [Psych::SyntaxError]
      def self.check(text, max_nesting)
        catch(:end) { Psych::Parser.new(new(max_nesting)).parse(text) }
      end

      def initialize(max_nesting)
        super()
        @max_nesting = max_nesting
        @open = []
        @anchors = {}
        @nodes = 0
      end

      def event_location(line, column, _, _)
        @line = line + 1
        @column = column + 1
      end

      def start_sequence(anchor, *) = enter(anchor)
      def start_mapping(anchor, *) = enter(anchor)
      def end_sequence = @open.pop
      def end_mapping = @open.pop

      def alias(anchor)
        refuse("*#{anchor} is an alias of its own parent") if @open.include?(@anchors.fetch(anchor, 0))
      end

      # Psych loads the first document only.
      def end_document(*) = throw(:end)

      private

      def enter(anchor)
        refuse("nested deeper than max_nesting, #{@max_nesting}") if @open.size == @max_nesting
        @open << (@nodes += 1)
        @anchors[anchor] = @nodes if anchor
      end

      def refuse(reason)
        raise DecodeError.new(reason, codec: "YAML", line: @line, column: @column)
      end
    end
    private_constant :Outline
  end
end
