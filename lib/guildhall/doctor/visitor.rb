# frozen_string_literal: true

module Guildhall
  class Doctor
    # As {Inspection::Visitor}, and farther: into gems and Ruby's library, to methods in C, and what it comes upon for the first time
    # is loaded. What it finds outside the application is a suspicion.
    # @api private
    class Visitor < Inspection::Visitor
      INTERNAL = ["<internal:", File.expand_path("..", __dir__)].freeze # Ruby's own, and this gem's
      MAX_SUSPICIONS = 200
      private_constant :INTERNAL, :MAX_SUSPICIONS

      attr_reader :suspicions
      # @return [Array<Inspection::Finding>] gems that are known not to work, and that the application's code names
      attr_reader :known_gems

      def initialize
        super(true, whole: false)
        @suspicions = []
        @known_gems = []
        @gems = {} # what was looked at: their methods, modules, names
      end

      # @param list [Array<Module>] all of whose methods are read
      def modules(list)
        list.each { |type| whole(type) }
      end

      # @param gem [String] that is to be judged itself
      def gem(gem)
        origin = Origin.named(gem) or return
        problem, advice = origin.verdict
        @gems[gem] = true
        @findings << Inspection::Finding.new(thing: gem, file: nil, line: nil, problem:, advice:) if problem
      end

      # @param name [Symbol] of a method that was called, as an error's backtrace says
      def read_method(type, name)
        follow(method_of(type, name), type.singleton_class? ? Inspection::Known.new(type.attached_object) : Inspection::Instance.new(type))
      end

      # (see Inspection::Visitor#constant)
      def constant(names, place)
        autoloaded(names, place)
        super
      end

      # (see Inspection::Visitor#call)
      def call(receiver, name, place)
        native(receiver, name, place)
        super
      end

      private

      def max_followed = 20_000
      def skipped?(file) = file.start_with?(*INTERNAL) || Inspection.own_file?(file)

      def find(thing, place, problem, advice)
        return super unless library?(place.first)

        suspect(thing.to_s, place, problem, Origin.advice_for(place.first, advice))
      end

      def suspect(thing, (file, line), problem, advice)
        @suspicions << Inspection::Finding.new(thing:, file:, line:, problem:, advice:) if @suspicions.size < MAX_SUSPICIONS
        nil
      end

      def came_upon(value, place)
        named(value, place) if value.is_a?(Module)
        super
      end

      def autoloaded(names, place)
        scope = names.first == :"" ? Object : @nesting.find { |type| type.autoload?(names.first, false) } || Object
        name = names.find { |one| one != :"" }
        return unless scope.autoload?(name)

        suspect(names.join("::").delete_prefix("::"), place,
          "is loaded when it is first named (autoload), which a worker leaves to the main Ractor",
          "name it before the pool starts, or call pool.warm_up(task)")
      end

      # The application's own code names a module of a gem.
      def named(type, place)
        return if library?(place.first) || @gems[type]

        @gems[type] = true
        problem, advice = KnownGems.of(type)
        @known_gems << Inspection::Finding.new(thing: Inspection.label(type), file: place[0], line: place[1], problem:, advice:) if problem
      end

      def native(receiver, name, place)
        method = method_called(receiver, name)
        return if method.nil? || method.source_location || member?(method)

        origin = Origin.of(method.owner)
        return if origin.nil? || @gems[method]

        @gems[method] = true
        find("#{owner_name(method.owner)}#{method.name}", place, *origin.unsafe) if origin.unsafe
      end

      # `new` and the members of a Struct or a Data are Ruby's own methods, wherever the class was defined.
      def member?(method)
        type = method.owner.singleton_class? ? method.owner.attached_object : method.owner
        return false unless type.is_a?(Class) && (type < Struct || type < Data)

        method.name == :new || type.members.include?(method.name.name.delete_suffix("=").to_sym)
      end

      # `new` leads to `initialize`, unless the class has its own.
      def method_called(receiver, name)
        type = type_of(receiver) or return
        method = method_of(type, name)
        return method unless name == :new && method&.owner == Class

        method_of(receiver.object, :initialize) if receiver.is_a?(Inspection::Known)
      end

      def type_of(receiver)
        case receiver
        when Inspection::Known then receiver.object.singleton_class
        when Inspection::Instance then receiver.type
        end
      rescue TypeError
        nil
      end

      def owner_name(owner) = owner.singleton_class? ? "#{owner.attached_object}." : "#{owner}#"
    end
  end
end
