# frozen_string_literal: true

module Guildhall
  class Inspection
    # What is known of a value on the stack: the object itself; of what class it is; a self that no worker may have.
    Known = Data.define(:object)
    Instance = Data.define(:type)
    Lost = Data.define(:object)

    # Judges what instructions touch.
    class Visitor
      include Findings
      include Calls

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

        found_unshareable(class_variable_of(owner, name), value, place, "use a frozen constant")
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

      # What is not the application's is not read; but what it was given may be.
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
    end
  end
end
