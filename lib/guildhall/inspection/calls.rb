# frozen_string_literal: true

module Guildhall
  class Inspection
    # Follows calls, where the receiver is known, into the application's methods.
    module Calls
      # @return [Known, Instance, nil] what the call gives, as far as that is known
      def call(receiver, name, place)
        case receiver
        when Known then call_known(receiver.object, name, place)
        when Instance then name == :class ? Known.new(receiver.type) : follow(method_of(receiver.type, name), receiver)
        when Lost then call_lost(receiver, name, place)
        end
      end

      # `super` of the method that is being read.
      # @param mine [Known, Instance, Lost, nil] self
      def call_super(mine)
        follow(@method&.super_method, mine) if mine.is_a?(Known) || mine.is_a?(Instance)
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
        return found_undefined(name, place) if method.nil? && name.match?(/\A[[:upper:]]/)

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
        return false unless object.is_a?(Module) && %i[pool default new open].include?(name)

        Inspection.constant_name(object) == (name == :pool ? "Guildhall" : "Guildhall::Pool")
      end

      # @return [Instance, nil] nil where the class has a `new` of its own
      def created(type)
        return unless creates?(type, method_of(type.singleton_class, :new))

        Instance.new(type).tap { |instance| follow(method_of(type, :initialize), instance) }
      end

      # Classes of Struct and Data have a `new` in C.
      def creates?(type, method)
        method&.owner == Class || ((type < Struct || type < Data) && method&.source_location.nil?)
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

      def follow(method, mine)
        file, = Inspection.place(*method&.source_location)
        return if file.nil?
        return unread(file) if skipped?(file)

        code = RubyVM::InstructionSequence.of(method)
        return if code.nil? || @seen[code] || @seen.size >= max_followed

        @seen[code] = @foreign = true
        body = code.to_a
        place = Inspection.place(body[Instructions::PATH], body[Instructions::FIRST_LINE])
        return found_define_method(method, place) if body[Instructions::KIND] == :block

        within(Constants.nesting_of(method.owner), method) { Instructions.new(body, self, mine).visit }
      end

      # What a gem returns may be anybody's.
      def unread(file)
        @foreign ||= !Inspection.own_file?(file)
        nil
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
        file = Inspection.file_of(type)
        return if file.nil? || skipped?(file) || @seen[type] == :whole || @seen.size >= max_followed

        @seen[type] = :whole
        type.singleton_methods(false).each { |name| followed_or_read(type, method_of(type.singleton_class, name)) }
        instance = Instance.new(type)
        (type.instance_methods(false) + type.private_instance_methods(false)).each { |name| follow(type.instance_method(name), instance) }
      end

      # An attribute that nobody sets in a task may still be read there.
      def followed_or_read(type, method)
        return follow(method, Known.new(type)) unless attribute?(method)

        read(Known.new(type), :"@#{method.original_name}", Inspection.place(*method.source_location)) unless method.name.end_with?("=")
      end
    end
  end
end
