# frozen_string_literal: true

module Guildhall
  class Pool
    # Finds the constants that a task's code names, by reading its instructions, and resolves them here in the main Ractor,
    # so that autoload has nothing to do in a worker. Follows what it finds in the application: not in gems, and not in
    # Ruby's own library.
    class Loading
      MOST = 1000
      OWN = File.expand_path("../..", __dir__).freeze
      private_constant :OWN

      def initialize
        @seen = {}.compare_by_identity
        @libraries = [*RbConfig::CONFIG.values_at("rubylibdir", "sitelibdir", "vendorlibdir"), *Gem.path, OWN].compact
      end

      # @param task [#call]
      # @return [Array<String>] names that did not resolve
      def of(task)
        @missing = []
        visit(task)
        @missing.uniq
      end

      private

      def visit(object)
        return if @seen[object] || @seen.size >= MOST

        @seen[object] = true
        return read(RubyVM::InstructionSequence.of(object), Object) if object.is_a?(Proc)

        parts_of(object).each { |part| visit(part) }
        owner = object.is_a?(Module) ? object : object.class
        methods_of(owner).each { |method| read(RubyVM::InstructionSequence.of(method), owner) }
      end

      # A pipeline's stages, a task's helpers: what hangs on its instance variables.
      def parts_of(object)
        return [] if object.is_a?(Module)

        values = object.instance_variables.map { |name| object.instance_variable_get(name) }
        values.flat_map { |value| value.is_a?(Array) ? value : [value] }
          .select { |value| ours?(value.class) || value.is_a?(Proc) || ours?(value) }
      end

      def methods_of(owner)
        single = owner.singleton_methods(false).map { |name| owner.method(name) }
        single + (owner.instance_methods(false) + owner.private_instance_methods(false)).map { |name| owner.instance_method(name) }
      end

      def read(instructions, scope)
        return unless instructions

        names_in(instructions.to_a.last) { |path| resolve(path, scope) }
      end

      # @yieldparam path [Array<Symbol>] such as [:Billing, :Order]; the first is nil for ::Billing
      def names_in(code, &found)
        code.each do |element|
          next unless element.is_a?(Array)

          found.call(element[1]) if element[0] == :opt_getconstant_path
          element.each { |operand| names_in(operand.last, &found) if inner_code?(operand) }
        end
      end

      def inner_code?(operand)
        operand.is_a?(Array) && operand.first == "YARVInstructionSequence/SimpleDataFormat"
      end

      def resolve(path, scope)
        names = path.compact.reject { |name| name == :"" }
        value = lookup(names, scope)
        visit(value) if ours?(value)
      rescue NameError, LoadError => error
        @missing << "#{names.join("::")} (#{error.message})"
      end

      # As Ruby does: the enclosing modules from the inside out, then the top level.
      def lookup(names, scope)
        enclosing(scope).each do |place|
          return names.inject(place) { |inside, name| inside.const_get(name) } if place.const_defined?(names.first)
        end
        Object.const_get(names.join("::"))
      end

      def enclosing(scope)
        names = scope.name.to_s.split("::")
        places = names.size.downto(1).map { |size| names.first(size).join("::") }
        [*places.select { |place| Object.const_defined?(place) }.map { |place| Object.const_get(place) }, Object]
      end

      def ours?(value)
        return false unless value.is_a?(Module) && value.name

        file, = Object.const_source_location(value.name)
        !file.nil? && @libraries.none? { |library| file.start_with?(library) }
      end
    end
  end
end
