# frozen_string_literal: true

module Guildhall
  class Inspection
    # Knowledge about a value on the stack: the object itself; only its class; a self that no worker may have.
    Known = Data.define(:object)
    Instance = Data.define(:type)
    Lost = Data.define(:object)

    # Judges what instructions touch, and follows calls, where the receiver is known, into the application's methods.
    class Visitor
      include Findings

      # Of which a worker has its own.
      GLOBALS = (%i[$stdout $stderr $stdin $> $! $@ $~ $& $` $' $+ $_ $? $$ $VERBOSE $-v $-w $-W $DEBUG $-d $-a $-i $-l $-p] +
                 (RUBY_VERSION < "4" ? [] : %i[$/ $-0])).freeze
      STATE = [Thread, Ractor, Fiber].freeze
      # Since Ruby 4.1 workers read class variables whose values are shareable. None sets one.
      CLASS_VARIABLES_SHARED = (RUBY_VERSION.split(".").map(&:to_i) <=> [4, 1]) >= 0
      private_constant :STATE, :CLASS_VARIABLES_SHARED

      attr_reader :findings, :missing
      # @return [Boolean] whether the code keeps something for itself
      attr_reader :keeps_state
      # @return [Boolean] whether some of the code is not ours
      attr_reader :foreign

      # @param load [Boolean] see {Inspection.of}
      # @param whole [Boolean] reads all methods of the modules that it comes upon
      def initialize(load, whole: load)
        @load = load
        @whole = whole
        @libraries = Inspection.libraries
        @findings = []
        @missing = []
        @seen = {}.compare_by_identity
        @keeps_state = @foreign = false
      end

      # @param task [#call] reads its code, and that of what it holds and may call
      # @param decodes [Boolean] whether a codec is there to decode, as far as is known: one that something holds may only encode
      def task(task, decodes: true)
        return if @seen[task]

        @seen[task] = true
        case task
        when SelfDescribing then task.describe_to(self)
        when Proc then block(task, Inspection.nesting_of(task))
        else object(task, decodes)
        end
      end

      # @param nesting [Array<Module>] around the block
      def block(task, nesting)
        code = RubyVM::InstructionSequence.of(task)
        return unless code

        @foreign = true
        within(nesting, nil) { Instructions.new(code.to_a, self, self_of(task)).visit }
      end

      # @param type [Class] of which each worker has an instance, and calls it
      def tool(type)
        @keeps_state = true
        created(type)
        follow(method_of(type, :call), Instance.new(type))
        whole(type) if @whole
      end

      # @param place [Array(String, Integer)] file and line
      def constant(names, place)
        known_constant(Constants.new(@nesting, load: @load), names, place)
      rescue NameError, LoadError => error
        @missing << "#{names.join("::").delete_prefix("::")} (#{error.message})" if @load
        nil
      end

      # `scope::NAME`, where scope is an expression.
      def constant_in(scope, name, place)
        return unless scope.is_a?(Known) && scope.object.is_a?(Module)

        known_constant(Constants.new([scope.object], load: @load), [name], place, "#{Inspection.label(scope.object)}::#{name}")
      rescue NameError, LoadError
        nil
      end

      def global(name, place)
        found_global(name, place) unless GLOBALS.include?(name)
      end

      def class_variable(name, place)
        owner = @nesting.first
        there = CLASS_VARIABLES_SHARED && owner&.class_variable_defined?(name)
        return found_class_variable(class_variable_of(owner, name), place) unless there

        value = owner.class_variable_get(name)
        return Known.new(value) if Ractor.shareable?(value)

        found_unshareable(class_variable_of(owner, name), value, place, OF_ALL)
      end

      def set_class_variable(name, place) = found_class_variable(class_variable_of(@nesting.first, name), place)

      # @param mine [Known, Instance, Lost, nil] self
      def read(mine, name, place)
        return mine.is_a?(Lost) ? found_self(mine, name, place) : nil unless mine.is_a?(Known)

        value = mine.object.instance_variable_get(name)
        return Known.new(value) if !mine.object.is_a?(Module) || Ractor.shareable?(value)

        found_unshareable("#{name} of #{Inspection.label(mine.object)}", value, place, "use a frozen constant")
      end

      def write(mine, name, place)
        return found_self(mine, name, place) if mine.is_a?(Lost)
        return unless mine.is_a?(Known) && mine.object.is_a?(Module)

        # `@cache ||= …` is harmless if it is already set to a shareable object.
        value = mine.object.instance_variable_get(name)
        found_write(mine.object, name, place) unless value && Ractor.shareable?(value)
      end

      # A regular expression is given to a method, or is asked by one.
      def match(name, place)
        found_match(name, place) if in_block? && RUBY_VERSION < "4" && name != :match?
      end

      # Ruby keeps its state where it keeps `$~`.
      def flip_flop(place)
        found_flip_flop(place) if in_block? && RUBY_VERSION < "4"
      end

      # Self is used, and not only as a receiver.
      def bare_self(mine, place)
        found_self(mine, "self", place) if mine.is_a?(Lost)
      end

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

      def class_variable_of(owner, name) = owner ? "#{name} of #{Inspection.label(owner)}" : name

      def known_constant(constants, names, place, text = names.join("::").delete_prefix("::"))
        value = constants.value(names)
        return if value.equal?(Constants::UNKNOWN)

        came_upon(value, place)
        return Known.new(value) if Ractor.shareable?(value)

        found_constant(text, value, place, constants.home(names, text))
      end

      def came_upon(value, _place)
        @keeps_state ||= STATE.include?(value)
        whole(value) if @whole && value.is_a?(Module)
      end

      # Methods of Guildhall are not read: the module whose `call` this is says which of the codec's own methods it calls.
      def decoding(codec)
        owner = method_of(codec.singleton_class, :call)&.owner
        follow(method_of(codec.singleton_class, owner.called_by_call), Known.new(codec)) if owner.respond_to?(:called_by_call)
      end

      # @return [Known, Lost, nil] unknown for a shareable block
      def self_of(task)
        receiver = task.binding.receiver
        Ractor.shareable?(receiver) ? Known.new(receiver) : Lost.new(receiver)
      rescue ::ArgumentError
        nil
      end

      # Code of others is not read; what the application gave to it may be.
      def object(task, decodes)
        follow(method_of(task.singleton_class, :call), Known.new(task))
        decoding(task) if decodes
        Inspection.callables_of(task).each { |part| self.task(part, decodes: false) }
        whole(task.is_a?(Module) ? task : task.class) if @whole
      end

      def in_block? = @method.nil?

      # @param method [UnboundMethod, nil] nil: a block
      def within(nesting, method)
        before = [@nesting, @method]
        @nesting = nesting
        @method = method
        yield
        nil
      ensure
        @nesting, @method = before
      end

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

      # Kernel's functions, and methods at the top level, do the same for every self.
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

      # @return [Known, nil] the value of an attribute or a member, which a method without instructions reads
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

      # A gem may return an object that somebody else still uses.
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
