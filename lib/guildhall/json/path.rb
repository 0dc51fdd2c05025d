# frozen_string_literal: true

require "strscan"

module Guildhall
  class JSON
    # A JSONPath (RFC 9535): names, indexes, slices, wildcards, unions and descent; no filters. Compiled once, frozen,
    # shareable.
    #
    #     skus = Guildhall::JSON::Path.new("$.items[*].sku")
    #     skus.of(document)  # => ["SKU-1", "SKU-2"]
    class Path
      # @return [String]
      attr_reader :source

      # @param source [String] such as `$.items[0,-1]['unit price']`, `$..sku`, `$.items[2:5]`
      # @raise [Guildhall::ArgumentError] naming the position that is not understood
      def initialize(source)
        @source = source.dup.freeze
        @steps = parse(StringScanner.new(@source))
        Ractor.make_shareable(self)
      end

      # @param document [Document, Hash, Array]
      # @return [Array] frozen: every value that the path leads to, in the order of the document
      def of(document)
        @steps.reduce([document]) { |nodes, (descend, selectors)| step(nodes, descend, selectors) }.freeze
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@source}>"
      alias to_s source

      private

      NAME = /[A-Za-z_\u0080-\u{10FFFF}][A-Za-z0-9_\u0080-\u{10FFFF}]*/
      QUOTED = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/
      SLICE = /(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(-?\d+)?)?/
      private_constant :NAME, :QUOTED, :SLICE

      def parse(text)
        refuse(text, "a path begins with $") unless text.skip(/\$/)
        steps = []
        steps << segment(text) until text.eos?
        steps
      end

      def segment(text)
        descend = !text.skip(/\s*\.\./).nil?
        return [descend, bracketed(text)] if text.skip(/\s*\[\s*/)

        refuse(text, "expected . or [") unless descend || text.skip(/\s*\./)
        return [descend, [:all]] if text.skip(/\*/)

        [descend, [text.scan(NAME) || refuse(text, "expected a name")]]
      end

      def bracketed(text)
        selectors = [selector(text)]
        selectors << selector(text) while text.skip(/\s*,\s*/)
        refuse(text, "expected , or ]") unless text.skip(/\s*\]/)
        selectors
      end

      def selector(text)
        return :all if text.skip(/\*/)
        return unquote(text.matched) if text.scan(QUOTED)
        return text.captures.map { |number| number&.to_i } if text.scan(SLICE)

        text.scan(/-?\d+/)&.to_i || refuse(text,
          text.check(/\?/) ? "filters are not supported" : "expected an index, a name in quotes, a slice or *")
      end

      def unquote(quoted)
        inner = quoted[1..-2]
        inner = inner.gsub("\\'", "'").gsub(/(?<!\\)"/, "\\\"") if quoted.start_with?("'")
        JSON.decode("[\"#{inner}\"]").first
      rescue ParseError
        raise Guildhall::ArgumentError, "JSONPath #{@source}: invalid escape in #{quoted}"
      end

      def refuse(text, reason)
        raise Guildhall::ArgumentError, "JSONPath #{@source}: #{reason} at position #{text.charpos}"
      end

      def step(nodes, descend, selectors)
        nodes = nodes.flat_map { |node| with_descendants(node) } if descend
        nodes.flat_map { |node| selectors.flat_map { |selector| select(node, selector) } }
      end

      def with_descendants(node)
        [node, *children(node).flat_map { |child| container?(child) ? with_descendants(child) : [] }]
      end

      def select(node, selector)
        case selector
        when :all then children(node)
        when String then member(node, selector)
        when Integer then array?(node) && selector < node.size && selector >= -node.size ? [node[selector]] : []
        else array?(node) ? slice(node, *selector) : []
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

        array?(node) ? (node.is_a?(Array) ? node : node.elements) : []
      end

      def container?(node) = object?(node) || array?(node)
      def object?(node) = node.is_a?(Hash) || node.is_a?(ObjectDocument)
      def array?(node) = node.is_a?(Array) || node.is_a?(ArrayDocument)
    end
  end
end
