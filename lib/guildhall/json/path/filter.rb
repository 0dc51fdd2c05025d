# frozen_string_literal: true

require_relative "i_regexp"

module Guildhall
  class JSON
    class Path
      # The expression after the ? of a filter: tests answer `true_for?`, operands `value`, both of the root and the node.
      # @api private
      module Filter
        # The value of a query that leads nowhere: equal to itself only, neither more nor less than anything.
        NOTHING = Ractor.make_shareable(Object.new)

        Both = Data.define(:left, :right) do
          def true_for?(root, node) = left.true_for?(root, node) && right.true_for?(root, node)
        end

        Either = Data.define(:left, :right) do
          def true_for?(root, node) = left.true_for?(root, node) || right.true_for?(root, node)
        end

        Opposite = Data.define(:test) do
          def true_for?(root, node) = !test.true_for?(root, node)
        end

        Existence = Data.define(:query) do
          def true_for?(root, node) = !query.of(root, node).empty?
        end

        Literal = Data.define(:content) do
          def value(_root, _node) = content
        end

        # The one value of a query.
        Single = Data.define(:query) do
          def value(root, node)
            found = query.of(root, node)
            found.size == 1 ? found.first : NOTHING
          end
        end

        # Characters of a string, elements of an array, members of an object.
        Length = Data.define(:operand) do
          def value(root, node)
            value = operand.value(root, node)
            case value
            when String, Array, Hash, Document then value.size
            else NOTHING
            end
          end
        end

        Count = Data.define(:query) do
          def value(root, node) = query.of(root, node).size
        end

        # `match` and `search` of RFC 9535, 2.4.6 and 2.4.7: false for what is not a String, and for what is not an I-Regexp.
        Matching = Data.define(:operand, :pattern, :whole, :compiled) do
          # @param pattern [#value] compiled once where it is a literal
          def self.of(operand, pattern, whole:)
            source = pattern.content if pattern.is_a?(Literal)
            new(operand, pattern, whole, source.is_a?(String) ? IRegexp.compile(source, whole:) : nil)
          end

          def true_for?(root, node)
            text = operand.value(root, node)
            text.is_a?(String) && (regexp(root, node)&.match?(text) || false)
          end

          private

          def regexp(root, node)
            return compiled if pattern.is_a?(Literal)

            source = pattern.value(root, node)
            IRegexp.compile(source, whole:) if source.is_a?(String)
          end
        end

        # RFC 9535, 2.3.5.2.2: only two numbers, or two strings, can be ordered.
        Comparison = Data.define(:left, :operator, :right) do
          def true_for?(root, node)
            one = left.value(root, node)
            other = right.value(root, node)
            case operator
            when "==" then one == other
            when "!=" then one != other
            when "<" then less?(one, other)
            when ">" then less?(other, one)
            when "<=" then less?(one, other) || one == other
            else less?(other, one) || one == other
            end
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
