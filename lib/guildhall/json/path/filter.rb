# frozen_string_literal: true

require_relative "i_regexp"

module Guildhall
  class JSON
    class Path
      # The expression after the ? of a filter: tests answer `true_for?`, operands `value`, both of the
      # evaluation and the node. `literals`: what a JSON text without escapes has to contain for a test to be true, or an operand to
      # have a value.
      # @api private
      module Filter
        # The value of a query that leads nowhere: equal to itself only, neither more nor less than anything.
        NOTHING = Ractor.make_shareable(Object.new)

        Both = Data.define(:left, :right) do
          def true_for?(evaluation, node) = left.true_for?(evaluation, node) && right.true_for?(evaluation, node)
          def literals = left.literals + right.literals
        end

        Either = Data.define(:left, :right) do
          def true_for?(evaluation, node) = left.true_for?(evaluation, node) || right.true_for?(evaluation, node)
          def literals = []
        end

        Opposite = Data.define(:test) do
          def true_for?(evaluation, node) = !test.true_for?(evaluation, node)
          def literals = []
        end

        Existence = Data.define(:query) do
          def true_for?(evaluation, node) = !query.of(evaluation, node).empty?
          def literals = query.literals
        end

        Literal = Data.define(:content) do
          def value(_evaluation, _node) = content
          def literals = content.is_a?(String) ? [content] : []
        end

        # The one value of a query. What every node is compared with is decoded once.
        Single = Data.define(:query) do
          def value(evaluation, node)
            return only(query.of(evaluation, node)) unless constant?

            evaluation.once(self) { Guildhall::Document.plain(only(query.of(evaluation, node))) }
          end

          def constant? = query.from_root?
          def literals = query.literals

          private

          def only(found) = found.size == 1 ? found.first : NOTHING
        end

        # Characters of a string, elements of an array, members of an object.
        Length = Data.define(:operand) do
          def value(evaluation, node)
            value = operand.value(evaluation, node)
            case value
            when String, Array, Hash, Document then value.size
            else NOTHING
            end
          end

          def literals = operand.literals
        end

        Count = Data.define(:query) do
          def value(evaluation, node) = query.of(evaluation, node).size

          # None is a number, too.
          def literals = []
        end

        # `match` and `search` of RFC 9535, 2.4.6 and 2.4.7: false for what is not a String, and for what is not an I-Regexp.
        Matching = Data.define(:operand, :pattern, :whole, :compiled) do
          # @param pattern [#value] compiled once where it is a literal
          def self.of(operand, pattern, whole:)
            source = pattern.content if pattern.is_a?(Literal)
            new(operand, pattern, whole, source.is_a?(String) ? IRegexp.compile(source, whole:) : nil)
          end

          def true_for?(evaluation, node)
            text = operand.value(evaluation, node)
            return false unless text.is_a?(String)

            regexp = regexp(evaluation, node)
            regexp ? SharedRegexp.match?(regexp, text) : false
          end

          def literals = operand.literals

          private

          def regexp(evaluation, node)
            return compiled if pattern.is_a?(Literal)
            return evaluation.once(self) { compile(evaluation, node) } if pattern.is_a?(Single) && pattern.constant?

            compile(evaluation, node)
          end

          def compile(evaluation, node)
            source = pattern.value(evaluation, node)
            IRegexp.compile(source, whole:) if source.is_a?(String)
          end
        end

        # RFC 9535, 2.3.5.2.2: only two numbers, or two strings, can be ordered.
        Comparison = Data.define(:left, :operator, :right) do
          def true_for?(evaluation, node)
            holds?(left.value(evaluation, node), right.value(evaluation, node))
          end

          def holds?(one, other)
            case operator
            when "==" then one == other
            when "!=" then one != other
            when "<" then less?(one, other)
            when ">" then less?(other, one)
            when "<=" then less?(one, other) || one == other
            else less?(other, one) || one == other
            end
          end

          # Only of a comparison with a literal it is known that both sides need a value: two values that are missing are equal.
          def literals
            literal, other = [left, right].partition { |operand| operand.is_a?(Literal) }
            return [] if operator == "!=" || literal.size != 1

            [*other, *(literal if operator == "==")].flat_map(&:literals)
          end

          private

          def less?(one, other)
            comparable = (one.is_a?(Numeric) && other.is_a?(Numeric)) || (one.is_a?(String) && other.is_a?(String))
            comparable && one < other
          end
        end
      end
    end
  end
end
