# frozen_string_literal: true

module Guildhall
  class Schema
    # One schema while it is compiled: reads its keywords, collects its instructions.
    class Compilation
      attr_reader :location, :options

      def initialize(location, compiler, options)
        @location = location
        @compiler = compiler
        @options = options
        @instructions = []
        @types = nil
      end

      # @return [Array] what {Program} takes for a schema
      def compile
        compile_keywords
        # By number: what is cheap comes first, what needs to know about the rest comes last.
        instructions = @instructions.sort_by.with_index { |instruction, index| [instruction.first, index] }
        mask = @types ? TypeMask.of(@types) : TypeMask::ANY
        [location.address, mask, @types, @compiler.number(location.base), tracks?(instructions), instructions]
      end

      def schema = location.schema

      # @return [Boolean] whether the schema has the keyword, and its draft knows it
      def key?(keyword) = schema.key?(keyword) && !dialect.unknown.include?(keyword)

      def dialect = location.dialect

      # @param types [String, Array<String>] the value of `type`
      def restrict(types)
        @types = types
      end

      # @param operation [Symbol] one of {Program}::OPERATIONS
      # @param operand [Object] the keyword's value
      # @param arguments [Array] what the walker needs
      def emit(operation, keyword, operand, *arguments)
        number = Program::OPERATIONS.index(operation)
        @instructions << [number, keyword, operand, *arguments]
      end

      # @return [Integer] the compiled schema inside this one
      def child(*tokens)
        @compiler.compile(@compiler.resources.child(location, *tokens))
      end

      # @return [Integer, nil] nil where there is no such keyword
      def optional(keyword)
        child(keyword) if key?(keyword)
      end

      # @return [Integer] the compiled schema that a reference leads to
      def refer(reference)
        @compiler.compile(@compiler.resources.resolve(reference, location))
      end

      # @return [Location] of what a reference leads to
      def find(reference)
        @compiler.resources.resolve(reference, location)
      end

      # @return [Array(Array, Array)] resources and schemas for a `$dynamicAnchor`
      def dynamic(name)
        locations = @compiler.resources.dynamic_anchors(name)
        [locations.keys.map { |base| @compiler.number(base) }, locations.values.map { |found| @compiler.compile(found) }]
      end

      # @raise [SchemaError]
      def refuse(keyword, reason)
        raise SchemaError.new("#{keyword} #{reason}", location: location.address)
      end

      private

      def compile_keywords
        return if schema == true
        return emit(:never, never, false) if schema == false
        return Keywords.reference(self, "$ref", schema["$ref"]) if dialect.old? && key?("$ref")

        schema.each { |keyword, value| Keywords.compile(self, keyword, value) }
        Keywords.compile_groups(self)
      end

      # What forbids everything is best named by the keyword that holds it.
      def never
        holder = location.pointer[%r{/([^/]+)\z}u, 1]
        %w[additionalProperties unevaluatedProperties items additionalItems unevaluatedItems].include?(holder) ? holder : Messages::NEVER
      end

      def tracks?(instructions)
        instructions.any? { |number, *| Program::OPERATIONS[number].start_with?("unevaluated") }
      end
    end
  end
end
