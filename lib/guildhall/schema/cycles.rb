# frozen_string_literal: true

module Guildhall
  class Schema
    # Refuses a schema that applies itself to every value without end. One that does so only for some values is accepted: few have such
    # values (a property whose schema refers to itself, and that no document has), and the walk stops with {LimitError} there.
    module Cycles
      # How many of the schemas that an operation names are applied to the value itself, whatever it is.
      CERTAIN = {all_of: nil, any_of: 1, one_of: 2, not: 1, ref: 1, if: 1, dynamic_ref: 1}.freeze
      FIRST_ARGUMENT = 3
      private_constant :CERTAIN, :FIRST_ARGUMENT

      # @param schemas [Array] what {Program} takes
      # @raise [SchemaError]
      def self.check(schemas)
        visit(schemas, 0, {}, {})
      end

      def self.visit(schemas, index, open, done)
        return if done[index]

        raise SchemaError.new("refers to itself without end", location: schemas[index].first) if open[index]

        open[index] = true
        applied(schemas[index].last).each { |inner| visit(schemas, inner, open, done) }
        open.delete(index)
        done[index] = true
      end
      private_class_method :visit

      def self.applied(instructions)
        instructions.flat_map do |number, *rest|
          operation = Program::OPERATIONS[number]
          next [] unless CERTAIN.key?(operation)

          inner = Array(rest[FIRST_ARGUMENT - 1])
          inner.first(CERTAIN[operation] || inner.size)
        end
      end
      private_class_method :applied
    end
  end
end
