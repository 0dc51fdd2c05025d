# frozen_string_literal: true

module Guildhall
  class Schema
    # Finds schemas that would apply themselves to the same value without end.
    module Cycles
      # Operations that always apply a schema to the value itself, and which of their arguments holds it.
      ALWAYS = %i[all_of any_of one_of not ref if dynamic_ref].freeze
      FIRST_ARGUMENT = 4
      private_constant :ALWAYS, :FIRST_ARGUMENT

      # @param schemas [Array] what {Program} takes
      # @raise [SchemaError]
      def self.check(schemas)
        done = {}
        schemas.each_index { |index| visit(schemas, index, {}, done) }
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
          ALWAYS.include?(Program::OPERATIONS[number]) ? Array(rest[FIRST_ARGUMENT - 1]) : []
        end
      end
      private_class_method :applied
    end
  end
end
