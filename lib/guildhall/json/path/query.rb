# frozen_string_literal: true

module Guildhall
  class JSON
    class Path
      # The segments of a path: each whether it descends, and its selectors (:all, a name, an index, the three parts of a
      # slice, or a filter).
      # @api private
      class Query
        attr_reader :segments

        # @param from_root [Boolean] begins with $, not with @
        def initialize(segments, from_root:)
          @segments = segments
          @from_root = from_root
        end

        # @return [Boolean] leads to one value at most
        def singular?
          @segments.all? { |descend, (first, *others)| !descend && others.empty? && (first.is_a?(String) || first.is_a?(Integer)) }
        end

        # @return [Array<String>, nil] the members on the way from the root, where it goes by nothing else
        def names
          names = @segments.map { |descend, (first, *others)| first if !descend && others.empty? && first.is_a?(String) }
          names if @from_root && names.all?
        end

        # @return [Array<String>] what a JSON text without escapes has to contain for this to lead anywhere
        def literals
          @segments.flat_map do |_, (first, *others)|
            next [] if others.any?

            case first
            when String then [first]
            when Symbol, Integer, Array then []
            else first.literals
            end
          end
        end

        # @return [Boolean] the same for every node
        def from_root? = @from_root

        # @param node [Object] what @ means
        # @return [Array] every value it leads to
        def of(evaluation, node)
          @from_root ? evaluation.once(self) { follow(evaluation, evaluation.root) } : follow(evaluation, node)
        end

        private

        def follow(evaluation, start)
          @segments.reduce([start]) do |nodes, (descend, selectors)|
            nodes = nodes.flat_map { |inner| with_descendants(inner) } if descend
            nodes.flat_map { |inner| selectors.flat_map { |selector| select(evaluation, inner, selector) } }
          end
        end

        # In the order of the document; however deep it is.
        def with_descendants(node)
          found = []
          waiting = [node]
          until waiting.empty?
            found << (node = waiting.pop)
            children(node).reverse_each { |child| waiting << child if object?(child) || array?(child) }
          end
          found
        end

        def select(evaluation, node, selector)
          case selector
          when :all then children(node)
          when String then member(node, selector)
          when Integer then array?(node) && selector < node.size && selector >= -node.size ? [node[selector]] : []
          when Array then array?(node) ? slice(node, *selector) : []
          else children(node).select { |child| selector.true_for?(evaluation, child) }
          end
        end

        def member(node, name)
          return [] unless object?(node)
          return [node[name]] if node.key?(name)

          node.key?(name.to_sym) ? [node[name.to_sym]] : []
        end

        def slice(array, from, upto, step)
          step ||= 1
          return [] if step.zero?

          first, last = step.positive? ? bounds(array.size, from || 0, upto || array.size) : bounds(array.size, from || -1, upto, -1)
          first.step(by: step, to: step.positive? ? last - 1 : last + 1).map { |index| array[index] }
        end

        # RFC 9535, 2.3.4.2.2: negative indexes count from the end, everything is clamped to the array.
        def bounds(size, from, upto, lowest = 0)
          from += size if from.negative?
          upto = upto.nil? ? -1 : (upto.negative? ? upto + size : upto)
          [from.clamp(lowest, lowest + size), upto.clamp(lowest, lowest + size)]
        end

        def children(node)
          return node.values if object?(node)
          return node.elements if Guildhall::Document::List === node

          array?(node) ? node : []
        end

        def object?(node) = node.is_a?(Hash) || node.is_a?(ObjectDocument)
        def array?(node) = node.is_a?(Array) || node.is_a?(ArrayDocument)
      end
    end
  end
end
