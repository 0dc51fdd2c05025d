# frozen_string_literal: true

module Guildhall
  class YAML
    # Hears of lists and mappings before any object is made of them. Psych itself recurses as deep as a text says, until the
    # stack ends, which depends on where it runs; and it cannot freeze a node that contains itself.
    # @api private
    class Outline < Psych::Handler
      FREE = 100_000 # scalars
      TIMES = 100 # those that are written
      private_constant :FREE, :TIMES

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
        @begun = [] # of each open container: its anchor, and what was written and merged before it
        @sizes = Hash.new(0) # by anchor, with what is merged inside
        @written = @merged = 0 # scalars and aliases; those that merging copies
        @merges = false # whether there is a <<
      end

      def event_location(line, column, _, _)
        @line = line + 1
        @column = column + 1
      end

      def start_sequence(anchor, *) = enter(anchor)
      def start_mapping(anchor, *) = enter(anchor)
      def end_sequence = leave
      def end_mapping = leave

      def scalar(value, *)
        @written += 1
        @merges ||= value == "<<"
      end

      def alias(anchor)
        refuse("*#{anchor} is an alias of its own parent") if @open.include?(@anchors.fetch(anchor, 0))
        @written += 1
        merge(@sizes.fetch(anchor, 0)) if @merges
      end

      # Psych loads the first document only.
      def end_document(*) = throw(:end)

      private

      def enter(anchor)
        refuse("nested deeper than max_nesting, #{@max_nesting}") if @open.size == @max_nesting
        @open << (@nodes += 1)
        @begun << [anchor, @written + @merged]
        @anchors[anchor] = @nodes if anchor
      end

      def leave
        anchor, before = @begun.pop
        @sizes[anchor] = @written + @merged - before if anchor
        @open.pop
      end

      # `<<` copies what it refers to, and that may hold copies already.
      def merge(size)
        @merged += size
        refuse("merging (<<) would copy more than #{TIMES} times what is written") if @merged > FREE + (TIMES * @written)
      end

      def refuse(reason)
        raise DecodeError.new(reason, codec: "YAML", line: @line, column: @column)
      end
    end
    private_constant :Outline
  end
end
