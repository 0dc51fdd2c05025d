# frozen_string_literal: true

module Guildhall
  class Inspection
    # Follows calls, where the receiver is known, into the application's methods.
    module Calls
      # @param receiver [Known, Instance, Lost, nil]
      # @param name [Symbol]
      # @param place [Array(String, Integer)]
      # @return [Known, Instance, nil] what the call gives, as far as that is known
      def call(receiver, name, place)
        case receiver
        when Known then call_known(receiver.object, name, place)
        when Instance then follow(method_of(receiver.type, name), receiver)
        when Lost then call_lost(receiver, name, place)
        end
      end

      private

      def call_known(object, name, place)
        return found_timeout(place) if timeout?(object, name)
        return found_fiber(place) if fiber?(object, name)
        return found_pool(object, name, place) if pool?(object, name)
        return created(object) if name == :new && object.is_a?(Class)
        return Known.new(object.class) if name == :class

        method = method_on(object, name)
        return attribute(object, method.original_name, place) if object.is_a?(Module) && attribute?(method)

        part_of(object, method) || follow(method, Known.new(object))
      end

      # What Kernel's functions and methods at the top level do is the same for every self.
      def call_lost(mine, name, place)
        method = method_on(mine.object, name)
        return if kernel_function?(name, method)
        return follow(method, mine) if method && method.owner == Object

        found_self(mine, "#{name} (a method of #{mine.object.class})", place)
      end

      # Kernel's private methods. The first Ractor puts a `require` of its own before Kernel's.
      def kernel_function?(name, method)
        return false if method.nil? || %i[binding eval].include?(name)

        Kernel.ancestors.include?(method.owner) && Kernel.private_method_defined?(name, false)
      end

      def timeout?(object, name)
        RUBY_VERSION < "4" && name == :timeout && defined?(::Timeout) && object == ::Timeout
      end

      def fiber?(object, name)
        RUBY_VERSION < "4" && name == :new && object.equal?(::Fiber)
      end

      def pool?(object, name)
        object.is_a?(Module) && object.name == (name == :pool ? "Guildhall" : "Guildhall::Pool") && %i[pool default new open].include?(name)
      end

      # @return [Instance, nil] nil where the class has a `new` of its own
      def created(type)
        return unless method_of(type.singleton_class, :new)&.owner == Class

        Instance.new(type).tap { |instance| follow(method_of(type, :initialize), instance) }
      end

      # @return [Boolean] whether `attr_reader` or its like made it
      def attribute?(method)
        method&.source_location && !RubyVM::InstructionSequence.of(method)
      end

      # @param name [Symbol] of a module's attribute
      def attribute(object, name, place)
        return write(Known.new(object), :"@#{name[..-2]}", place) if name.end_with?("=")

        read(Known.new(object), :"@#{name}", place)
      end

      # What a reader of an attribute, or of a member, gives.
      # @return [Known, nil]
      def part_of(object, method)
        return if method.nil? || RubyVM::InstructionSequence.of(method) || object.is_a?(Module) || !Ractor.shareable?(object)

        name = method.name
        return Known.new(object.to_h[name]) if (object.is_a?(Struct) || object.is_a?(Data)) && object.members.include?(name)

        variable = :"@#{name}"
        Known.new(object.instance_variable_get(variable)) if attribute?(method) && object.instance_variable_defined?(variable)
      rescue NameError # no name of a variable
        nil
      end

      def method_on(object, name)
        method_of(object.singleton_class, name)
      rescue TypeError # numbers and symbols have no singleton class
        nil
      end

      # Private and protected methods too.
      def method_of(type, name)
        type.instance_method(name)
      rescue NameError
        nil
      end

      # @return [nil]
      def follow(method, mine)
        file, = method&.source_location
        return if file.nil? || skipped?(file)

        code = RubyVM::InstructionSequence.of(method)
        return if code.nil? || @seen[code] || @seen.size >= max_followed

        @seen[code] = @foreign = true
        body = code.to_a
        return found_define_method(method, [body[Instructions::PATH], body[Instructions::FIRST_LINE]]) if body[Instructions::KIND] == :block

        within(Constants.nesting_of(method.owner), false) { Instructions.new(body, self, mine).visit }
      end

      # Objects and methods.
      def max_followed = 1000

      # Not read: a worker finds out about gems.
      def skipped?(file) = library?(file)

      def library?(file)
        @libraries.any? { |library| file.start_with?(library) }
      end

      # All methods of an application's module, whether or not somebody calls them.
      def whole(type)
        file, = type.name && Object.const_source_location(type.name)
        return if file.nil? || skipped?(file) || @seen[type] == :whole || @seen.size >= max_followed

        @seen[type] = :whole
        type.singleton_methods(false).each { |name| follow(type.method(name).unbind, Known.new(type)) }
        instance = Instance.new(type)
        (type.instance_methods(false) + type.private_instance_methods(false)).each { |name| follow(type.instance_method(name), instance) }
      end
    end
  end
end
