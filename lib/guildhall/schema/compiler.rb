# frozen_string_literal: true

module Guildhall
  class Schema
    # From locations to a {Program}: each schema that can be reached becomes one of its schemas, once.
    class Compiler
      attr_reader :resources

      def initialize(resources, options)
        @resources = resources
        @options = options
        @indexes = {} # address => Integer
        @waiting = []
        @compiled = []
      end

      # @param location [Location] where validation begins
      # @raise [SchemaError]
      def program(location)
        first = enter(location)
        until @waiting.empty?
          index, waiting = @waiting.shift
          @compiled[index] = Compilation.new(waiting, self, @options).compile
        end
        Cycles.check(@compiled)
        raise "internal error: the root schema was compiled to index #{first}, not 0" unless first.zero?

        Program.new(Ractor.make_shareable(@compiled), @options.work_limit, @options.max_digits)
      end

      # @return [Integer] the index that it has or will have
      def compile(location)
        enter(follow(location))
      end

      # @return [Integer] a small number for a base URI
      def number(base)
        resources.number(base)
      end

      private

      def enter(location)
        @indexes[location.address] ||= @indexes.size.tap { |index| @waiting << [index, location] }
      end

      # A schema that is nothing but a reference is the schema it refers to, unless `$dynamicRef` may look for it.
      def follow(location, seen = {})
        return location if seen[location.address] || !alias?(location)

        seen[location.address] = true
        follow(resources.resolve(location.schema["$ref"], location), seen)
      end

      def alias?(location)
        schema = location.schema
        return false unless schema.is_a?(Hash) && schema["$ref"].is_a?(String)

        location.dialect.old? || ((schema.keys - Resources::SILENT).empty? && !resources.dynamic?(location.base))
      end
    end
  end
end
