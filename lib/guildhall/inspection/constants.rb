# frozen_string_literal: true

module Guildhall
  class Inspection
    # Looks constants up as Ruby does in one place of the code, without loading anything unless asked to.
    class Constants
      UNKNOWN = Object.new.freeze
      # The place of a constant: its full name and its file; no file: an extension or Ruby itself defines it.
      Home = Data.define(:name, :file)

      # @param nesting [Array<Module>] the enclosing modules, from the inside out
      # @param load [Boolean] whether autoloads and `const_missing` may run
      def initialize(nesting, load: false)
        @nesting = nesting
        @load = load
      end

      # The modules around a method, as far as its owner's name shows them.
      def self.nesting_of(owner)
        owner = owner.attached_object if owner.singleton_class?
        names = owner.is_a?(Module) && Inspection.constant_name(owner)&.split("::") or return []

        names.size.downto(1).filter_map { |size| Object.const_get(names.first(size).join("::")) }
      rescue NameError
        [owner]
      end

      # @param names [Array<Symbol>] such as [:Billing, :Order]; the first is empty for ::Billing
      # @return [Object] the value, or UNKNOWN
      # @raise [NameError, LoadError] when it is to be loaded and cannot be
      def value(names)
        first, *rest = names
        start = first == :"" ? Object : inside(scope_of(first), first)
        rest.inject(start) { |scope, name| scope.is_a?(Module) ? inside(scope, name) : UNKNOWN }
      end

      # @param names [Array<Symbol>] see {#value}, which has found it
      # @param text [String] how it is named, which is all that is known where its module has no name
      def home(names, text)
        *outer, last = names
        scope = outer.empty? ? scope_of(last) : value(outer)
        owner = scope.ancestors.find { |type| type.const_defined?(last, false) } || Object
        outer = Inspection.constant_name(owner)
        name = owner.equal?(Object) ? last.name : (outer && "#{outer}::#{last}")
        Home.new(name: name || text, file: owner.const_source_location(last, false)&.first)
      end

      private

      # Lexical scopes first, then what the innermost one inherits.
      def scope_of(name)
        @nesting.find { |scope| scope.const_defined?(name, false) } || @nesting.first || Object
      end

      def inside(scope, name)
        return scope.const_get(name) if @load || (scope.const_defined?(name) && !scope.autoload?(name))

        UNKNOWN
      end
    end
  end
end
