# frozen_string_literal: true

module Guildhall
  class Avro
    class Compiler
      # How many bytes a value of each node takes at least, and how many values come without a byte: what limits a payload's cost.
      class Sizes
        MOST = 0xffffffff
        # The fewest bytes of each; of the rest one: a length, a count, a branch, an index.
        FEWEST = {null: 0, float: 4, double: 8}.freeze
        private_constant :MOST, :FEWEST

        # @param nodes [Array<Array<Integer>>] which get their last three members
        def initialize(nodes, operands)
          @nodes = nodes
          @operands = operands
        end

        def compute
          compute_minimum_sizes
          known = {}
          @nodes.each_with_index do |node, number|
            node[6] = inside(number, known)
            node[7] = unpaid(node)
          end
        end

        private

        # The fewest bytes that a value of each node takes. Starts with none and grows until nothing changes: types may be
        # recursive. What takes for ever is cut off, which is still no more than the truth.
        def compute_minimum_sizes
          8.times do
            break unless @nodes.reverse.map { |node| raise_minimum(node) }.any? # what is inside comes later
          end
        end

        def raise_minimum(node)
          type, _, count, first, = node
          minimum = minimum_size(TYPES.key(type), count, first)
          changed = minimum != node[5]
          node[5] = minimum
          changed
        end

        def minimum_size(kind, count, first)
          case kind
          when :fixed then count
          when :record then [count.times.sum { |index| @nodes[@operands[first + (2 * index)]][5] }, 0xffff].min
          when :union then 1 + (count.times.map { |index| @nodes[@operands[first + index]][5] }.min || 0)
          when :mismatch then 0
          else FEWEST.fetch(kind, 1)
          end
        end

        # Of a type that takes no byte: how many values one holds, those that the reader fills in among them.
        # @param known [Hash{Integer=>Integer}] records that are done or, as 0, in themselves
        def inside(number, known)
          node = @nodes[number]
          return 0 unless record?(node) && node[5].zero?

          known[number] ||= begin
            known[number] = 0
            [fields(node).sum(filled_in(node)) { |field, _| 1 + inside(field, known) }, MOST].min
          end
        end

        # Of a record: its own fields that take no byte, and those that the reader fills in.
        def unpaid(node)
          record?(node) ? filled_in(node) + fields(node).count { |field, _| @nodes[field][5].zero? } : 0
        end

        def record?(node) = node[0] == TYPES[:record]
        def fields(node) = @operands[node[3], 2 * node[2]].each_slice(2)
        def filled_in(node) = node[4] - fields(node).count { |_, name| name != SKIPPED }
      end
      private_constant :Sizes
    end
  end
end
