# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # Writes a tree as Ruby's expression.
      class Writer
        SIGNS = {[0, nil] => "*", [1, nil] => "+", [0, 1] => "?"}.freeze
        # Behind a reference that has matched the empty text, Ruby's own `\b` looks at the wrong character.
        word = Characters.source(Characters::WORD)
        BOUNDARIES = {"(?a:\\b)" => "(?:(?<=#{word})(?!#{word})|(?<!#{word})(?=#{word}))",
                      "(?a:\\B)" => "(?:(?<=#{word})(?=#{word})|(?<!#{word})(?!#{word}))"}.freeze
        private_constant :SIGNS, :BOUNDARIES

        def initialize(references)
          @references = references
        end

        def write(node)
          case node
          when Character then node.source
          when Assertion then @references.captures.empty? ? node.source : BOUNDARIES.fetch(node.source, node.source)
          when Sequence then node.inner.map { |part| item(part) }.join
          when Choice then node.inner.map { |part| write(part) }.join("|")
          when Group then group(node, write(node.content))
          when Lookaround then lookaround(node)
          when Repetition then repetition(node)
          when Reference then reference(node)
          end
        end

        private

        def item(node)
          node = bare(node)
          node.is_a?(Sequence) || node.is_a?(Choice) ? "(?:#{write(node)})" : write(node)
        end

        # A sequence of one is that one, and so is what stands there once; what is never repeated is not there.
        def bare(node)
          case node
          in Sequence(inner:)
            parts = inner.reject { |part| part.is_a?(Repetition) && part.never? }
            parts.size == 1 ? bare(parts.first) : node
          in Repetition(least: 1, most: 1, content:) then bare(content)
          else node
          end
        end

        def group(node, content) = @references.captures.key?(node.number) ? "(#{content})" : "(?:#{content})"

        # Ruby may try the other branches of a look-behind again; that shows in what its groups capture.
        def lookaround(node)
          written = "(?#{"<" if node.behind}#{node.negative ? "!" : "="}#{write(bare(node.content))})"
          node.behind && !node.negative && captures?(node.content) ? "(?>#{written})" : written
        end

        def captures?(node)
          (node.is_a?(Group) && @references.captures.key?(node.number)) || node.inner.any? { |part| captures?(part) }
        end

        # To Ruby, `{2}?` means "twice or not at all".
        def repetition(node)
          return "" if node.never?
          return item(node) if node.least == 1 && node.most == 1
          return filled(node) if @references.filled?(node)

          least, most, content = nested(filled_up(node))
          return "#{repeated(content)}{#{least}}" if least == most

          "#{repeated(content)}#{SIGNS[[least, most]] || "{#{least},#{most}}"}#{"?" if node.lazy}"
        end

        # Ruby ends a repetition at the first turn that matches nothing, however many are needed. Where each may match nothing, none is.
        def filled_up(node)
          return node unless node.least > 1 && node.content.nullable?
          return node.with(least: 0) if node.content.empty?

          raise Error, "Ruby cannot express a repetition of at least #{node.least} times of what matches nothing in some places only"
        end

        def filled(node)
          content = write(node.content.content)
          group(node.content, node.lazy ? "|#{content}" : "#{content}|")
        end

        # Ruby warns of repetitions of repetitions. Those without groups are written as the one that they amount to.
        def nested(node)
          inner = plain(node.content)
          own = [node.least, node.most]
          return [*own, node.content] unless SIGNS[own] && inner.is_a?(Repetition) && !captures?(inner)

          least, most, content = nested(inner)
          SIGNS[[least, most]] ? [[node.least, least].min, node.most && most, content] : [*own, node.content]
        end

        def repeated(node)
          inner = plain(node)
          inner.is_a?(Repetition) || inner.is_a?(Assertion) || inner.is_a?(Lookaround) ? "(?:#{write(inner)}(?:))" : item(node)
        end

        # What is left without the parentheses that capture nothing.
        def plain(node)
          node = bare(node)
          node = bare(node.content) while node.is_a?(Group) && !@references.captures.key?(node.number)
          node
        end

        def reference(node)
          number = @references.number(node)
          number ? "(?(#{number})\\#{number})" : "(?:)"
        end
      end
    end
  end
end
