# frozen_string_literal: true

module Guildhall
  class Schema
    # From places to a {Program}: each schema that can be reached becomes one of its schemas, once.
    class Compiler
      # What a schema may say beside a `$ref` without saying anything about values.
      SILENT = %w[$comment $defs $ref default definitions deprecated description examples readOnly title writeOnly].freeze
      private_constant :SILENT

      # @return [Library]
      attr_reader :library

      # @param library [Library]
      # @param options [Options]
      def initialize(library, options)
        @library = library
        @options = options
        @indexes = {} # address => Integer
        @waiting = []
        @compiled = []
      end

      # @param place [Place] where validation begins
      # @return [Program]
      # @raise [SchemaError]
      def program(place)
        first = enter(place)
        until @waiting.empty?
          index, waiting = @waiting.shift
          @compiled[index] = Unit.new(waiting, self, @options).compile
        end
        Cycles.check(@compiled)
        raise "begins at #{first}" unless first.zero?

        Program.new(Ractor.make_shareable(@compiled), @options.work_limit)
      end

      # @param place [Place]
      # @return [Integer] the index that it has or will have
      def compile(place)
        enter(follow(place))
      end

      # @return [Integer] a small number for a base URI
      def number(base)
        library.number(base)
      end

      private

      def enter(place)
        @indexes[place.address] ||= @indexes.size.tap { |index| @waiting << [index, place] }
      end

      # A schema that is nothing but a reference is the schema it refers to, unless `$dynamicRef` may look for it.
      def follow(place, seen = {})
        return place if seen[place.address] || !alias?(place)

        seen[place.address] = true
        follow(library.resolve(place.schema["$ref"], place), seen)
      end

      def alias?(place)
        schema = place.schema
        return false unless schema.is_a?(Hash) && schema["$ref"].is_a?(String)

        place.dialect.draft7? || ((schema.keys - SILENT).empty? && !library.dynamic?(place.base))
      end
    end
  end
end
