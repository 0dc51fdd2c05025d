# frozen_string_literal: true

# Needs guildhall/shareable, which loads it.
require_relative "errors"
require_relative "inspection/constants"
require_relative "inspection/instructions"
require_relative "inspection/findings"
require_relative "inspection/visitor"

module Guildhall
  # Reads a task's instructions, without running it, and finds what only the main Ractor may touch.
  #
  # It reads the task's own `call`, the blocks in it, and the application's methods that these certainly call: on self, on
  # constants, on what hangs on the task. It does not follow gems and Ruby's own library; a worker finds out about them.
  # Used in the main Ractor. Starts nothing, freezes nothing, and loads nothing unless asked to.
  # @api private
  class Inspection
    # A task that says itself what of it is to be read: it has `describe_to(visitor)`, which calls {Visitor#task}, {Visitor#block} or
    # {Visitor#tool}.
    # @api private
    module SelfDescribing; end

    OWN = File.expand_path("..", __dir__).freeze
    EVALED = /\A\(eval at (.+):(\d+)\)\z/
    private_constant :OWN, :EVALED

    # @param task [#call] a lambda, module, object, pipeline …
    # @param load [Boolean] loads what the code names, and reads all methods of the modules that it comes upon: for warm-up and for
    #   reports; then some of what is found may never be called
    def self.of(task, load: false)
      visitor = Visitor.new(load)
      visitor.task(task)
      new(name_of(task), visitor)
    end

    # @return [Array<Module>] the modules in whose bodies a block was written, from the inside out; none if it is not a block
    def self.nesting_of(callable)
      callable.is_a?(Proc) && RubyVM::InstructionSequence.of(callable) ? callable.binding.eval("Module.nesting").freeze : [].freeze
    rescue ::ArgumentError # a shareable block has no binding
      [].freeze
    end

    # @return [Array<#call>] what it holds and may call: in instance variables, members, and Arrays and Hashes there
    def self.callables_of(object)
      return [] if object.is_a?(Module)

      Shareable.parts(object).flat_map { |_, part| elements_of(part) }.select { |part| part.respond_to?(:call) }
    end

    # Large tables come this way: no names of what is in them.
    def self.elements_of(part)
      case part
      when Array then part
      when Hash then part.keys + part.values
      else [part]
      end
    end
    private_class_method :elements_of

    # @return [String] a short name of a task, for messages
    def self.name_of(task)
      return label(task) if task.is_a?(Module)
      return "#{task.lambda? ? "lambda" : "block"} at #{task.source_location&.join(":")}" if task.is_a?(Proc)

      text = task.inspect
      text.size <= 80 ? text : task.class.to_s
    rescue StandardError # of an `inspect` of its own
      task.class.to_s
    end

    # Any Ractor, as {.label}: no constant may keep the UnboundMethod.
    # @return [String, nil] the constant that it has, whatever a method `name` of its own says
    def self.constant_name(type) = Module.instance_method(:name).bind_call(type)

    # @return [String] for messages: its constant, or "#<Class:0x…>"
    def self.label(type) = Module.instance_method(:to_s).bind_call(type)

    # @return [String, nil] the file in which it was first defined; nil: by an extension or by Ruby, or it has no constant
    def self.file_of(type)
      name = constant_name(type)
      place(*Object.const_source_location(name)).first if name
    rescue NameError # a temporary name
      nil
    end

    # @param path [String, nil] as Ruby says it
    # @return [Array(String, Integer)] file and line; of text that was given to `eval`, those of the call
    def self.place(path = nil, line = nil)
      match = EVALED.match(path.to_s)
      match ? [match[1], match[2].to_i] : [path, line]
    end

    # @return [Boolean] whether it is Guildhall's own
    def self.own_file?(file) = file.start_with?("#{OWN}/")

    # @return [Array<String>] where the code of gems and of Ruby lies
    def self.libraries
      [*RbConfig::CONFIG.values_at("rubylibdir", "sitelibdir", "vendorlibdir"), *Gem.path, "#{OWN}/", "<internal:"].compact
    end

    attr_reader :findings
    # @return [Array<String>] constants that could not be loaded, each with the reason
    attr_reader :missing

    # @param name [String] of what was read
    # @param visitor [Visitor] has read it
    def initialize(name, visitor)
      @name = name
      @findings = visitor.findings.uniq(&:thing).freeze
      @missing = visitor.missing.uniq.freeze
      @keeps_state = visitor.keeps_state
      @foreign = visitor.foreign
      freeze
    end

    # @raise [IsolationError] naming all that was found
    def check!
      return self if @findings.empty?

      raise IsolationError.new("#{@name} cannot run on workers, and so nowhere: #{@findings.join("; ")}", findings: @findings)
    end

    # @return [Boolean] whether results may be part of what the code keeps: in a tool, in a thread's or a Ractor's variables
    def keeps_state? = @keeps_state

    # @return [Boolean] whether all of it is Guildhall's own
    def own? = !@foreign
  end
end
