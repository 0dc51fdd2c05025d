# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # What back-references find. In ECMA-262 a group that took no part matches the empty text, and each turn of a repetition forgets
      # what its groups have matched; in Ruby the first fails, and groups remember. So each reference is one of these:
      #
      # - it comes before its group, or excludes it: it matches the empty text,
      # - its group is that of the current turn, or was never entered: Ruby finds the same,
      # - neither is certain: refused.
      class References
        # @return [Hash{Integer=>Integer}] groups that have to capture, and their numbers in Ruby's expression
        attr_reader :captures

        # @param source [String] for messages
        # @raise [Error]
        def initialize(tree, names, source)
          @names = names
          @source = source
          @references = [] # [Reference, its path]
          @groups = {}     # number => path of the group
          @captures = {}
          @nullable = {}.compare_by_identity
          @empty = {}.compare_by_identity  # references that match the empty text
          @filled = {}.compare_by_identity # repetitions that set their group to the empty text instead of leaving it out
          visit(tree, [])
          @references.each { |reference, path| decide(reference, path) }
          @captures = @captures.keys.sort.each_with_index.to_h { |number, index| [number, index + 1] }
        end

        # @return [Integer, nil] the number of its group in Ruby's expression; nil: it matches the empty text
        def number(reference) = @empty.key?(reference) ? nil : @captures.fetch(number_of(reference))

        # @param repetition [Repetition] `(…)?`
        # @return [Boolean] whether it is to be `(…|)`
        def filled?(repetition) = @filled.key?(repetition)

        private

        def number_of(reference) = @names.fetch(reference.target, reference.target)

        # A path is an Array of [node, index of the part of it that is entered]. What is never repeated is not written.
        def visit(node, path, written: true)
          @groups[node.number] = path.dup if node.is_a?(Group)
          @references << [node, path.dup] if node.is_a?(Reference) && written
          node.inner.each_with_index do |part, index|
            path.push([node, index])
            visit(part, path, written: written && !(node.is_a?(Repetition) && node.never?))
            path.pop
          end
        end

        def decide(reference, path)
          group = @groups.fetch(number_of(reference))
          shared = path.zip(group).take_while { |(node, index), (other, other_index)| node.equal?(other) && index == other_index }.size
          return @empty[reference] = true if never_set?(path, group, shared)

          fresh!(group, shared)
          @captures[number_of(reference)] = true
        end

        def never_set?(path, group, shared)
          return true if group.size == shared # the reference stands in its own group

          node, at = path[shared]
          other, group_at = group[shared]
          # Two branches of a choice, or a reference that is read before its group.
          return true unless node.equal?(other) && node.is_a?(Sequence)
          return true if backward?(path.first(shared)) ? at > group_at : at < group_at

          group.drop(shared).any? { |part, _| (part.is_a?(Lookaround) && part.negative) || (part.is_a?(Repetition) && part.never?) }
        end

        # Look-behind is read from the right to the left.
        def backward?(path)
          around, = path.reverse.find { |node, _| node.is_a?(Lookaround) }
          around&.behind
        end

        def nullable?(repetition)
          return @nullable[repetition] if @nullable.key?(repetition)

          @nullable[repetition] = repetition.content.nullable?
        end

        # Of every turn that ends, or reaches the reference, the group has to be a part.
        def fresh!(group, shared)
          loops = group.each_index.select { |index| group[index].first.is_a?(Repetition) && group[index].first.loop? }
          return if loops.empty?

          refuse("stands in a repetition that may match nothing") if loops.any? { |index| nullable?(group[index].first) }
          from = loops.any? { |index| index < shared } ? shared : loops.first + 1
          group.drop(from).each_with_index { |(node, _), index| certain!(node, last: from + index == group.size - 1) }
        end

        def certain!(node, last:)
          return @filled[node] = true if last && node.is_a?(Repetition) && node.optional?
          return unless node.is_a?(Choice) || (node.is_a?(Repetition) && node.least.zero?)

          refuse("is left out by some turns of a repetition")
        end

        def refuse(reason)
          raise Error, "Ruby cannot express a reference to a group that #{reason}: #{@source.inspect}"
        end
      end
    end
  end
end
