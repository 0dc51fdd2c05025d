# frozen_string_literal: true

require "guildhall/native"
require_relative "errors"

module Guildhall
  # Finds out whether an object may cross Ractors and, where it may not, which part of it is the reason.
  # All methods may be called from any Ractor; none blocks; none freezes or changes what it is given.
  module Shareable
    PER_WORKER = "make one in each worker, with Guildhall::Task.per_worker"
    # No freezing makes these shareable: what to do instead.
    UNSHAREABLE = {
      IO => "open it where it is used, or return data and write it in the main Ractor",
      Thread => "workers run in parallel without it", Thread::Queue => "use Guildhall::Queue, which Ractors can share",
      Thread::Mutex => "return what is to be shared, and combine it in the main Ractor, where a lock can stay",
      Enumerator => PER_WORKER, Fiber => PER_WORKER, Binding => PER_WORKER
    }.freeze
    private_constant :PER_WORKER, :UNSHAREABLE

    # @param name [String] what the caller calls the object, the root of the path in the message
    # @return [Object] the object itself
    # @raise [NotShareableError] naming the path to the first part that is not shareable
    def self.check!(object, name = "object")
      return object if Ractor.shareable?(object)

      path, culprit = find(object, name)
      raise NotShareableError.new("#{path} is not shareable: #{describe(culprit).join("; ")}", path: path)
    end

    # Like {check!}, but takes a block or lambda, too: what comes back is a shareable one that does the same. The one that was given
    # stays as it is. It keeps its self where that is shareable. Where not, it has none (nil), and must not use it.
    # @return [#call] a shareable callable
    # @raise [NotShareableError] naming the variable, the instance variable or the method that prevents it
    def self.callable!(callable, name = "task")
      return check!(callable, name) unless callable.is_a?(Proc)

      Ractor.shareable?(callable) ? callable : Block.new(callable, name).make
    end

    # @api private
    # @return [Object, nil] what a block of {callable!} has as self
    def self.receiver_of(callable)
      return unless callable.is_a?(Proc)
      return Block.new(callable, "task").self_to_keep unless Ractor.shareable?(callable)

      instructions = RubyVM::InstructionSequence.of(callable)
      UNKNOWN if instructions && Inspection::Block.new(instructions).uses_self
    end

    # Self of a shareable block that somebody else has made.
    UNKNOWN = Object.new.freeze
    private_constant :UNKNOWN

    # A copy of a shareable task for this Ractor alone: its blocks have variables of their own around them, where Ruby keeps `$~`.
    # Ruby 3.4 cannot make one.
    # @api private
    # @param receiver [Object, nil] self of the block
    def self.own(task, receiver)
      return task.own unless task.is_a?(Proc)

      return task if UNKNOWN.equal?(receiver) || !Ractor.respond_to?(:shareable_proc) || RubyVM::InstructionSequence.of(task).nil?

      task.lambda? ? Ractor.shareable_lambda(self: receiver, &task) : Ractor.shareable_proc(self: receiver, &task)
    end

    # The parts of an object: its instance variables, elements, members, and defaults.
    # @api private
    # @return [Array<Array(String, Object)>] each with the suffix that leads to it
    def self.parts(object)
      variables(object).map { |name, value| [".#{name}", value] } + elements(object)
    end

    # @api private
    # @return [String] "a Hash", "an Array"
    def self.article(type)
      name = Inspection.label(type)
      "#{name.match?(/\A[AEIOU]/) ? "an" : "a"} #{name}"
    end

    # Makes what a task returned shareable, where freezing it in place is not enough or not allowed: by a copy. What cannot be shared
    # is left as it was.
    # @api private
    # @raise [NotShareableError] naming the path to what cannot be shared
    def self.result(value, task = nil)
      Result.new(value, task).shared
    end

    # @return [Array(String, Object), nil] path to and value of the first part that is not shareable; nil when
    #   all of it is
    def self.find(object, name = "object", seen = {}.compare_by_identity)
      return if Ractor.shareable?(object) || seen[object]

      seen[object] = true
      parts(object).each do |suffix, part|
        found = find(part, "#{name}#{suffix}", seen)
        return found if found
      end
      [name, object]
    end

    # @api private
    # @return [Array<Array(String, Object)>] path to and value of every part on which something has to change: those that have no
    #   unshareable parts themselves, and those that are not frozen
    def self.all(object, name = "object", seen = {}.compare_by_identity)
      return [] if Ractor.shareable?(object) || seen[object]

      seen[object] = true
      inner = parts(object).flat_map { |suffix, part| all(part, "#{name}#{suffix}", seen) }
      inner.empty? || !frozen_object?(object) ? [[name, object], *inner] : inner
    end

    class << self
      # @api private
      # @param object [Object] not shareable
      # @return [Array(String, String)] what it is, and what to do about it
      def describe(object)
        type = type_of(object)
        return ["a Proc (#{object.source_location&.join(":")})", "make it with Ractor.shareable_proc"] if type == Proc
        return ["a Method", "use a lambda, or a module with `call`"] if type == Method

        advice = remedy(object)
        return ["#{article(type)}, which cannot be shared between Ractors", advice] if advice

        ["#{article(type)} that is not frozen", "freeze it, or make it with Ractor.make_shareable"]
      end

      # @api private
      # @param object [Object] not shareable, and its parts are
      # @return [String, nil] what to do instead of sharing it; nil where freezing it is enough
      def remedy(object)
        _, advice = UNSHAREABLE.find { |kind, _| kind === object }
        advice || (PER_WORKER if frozen_object?(object) && !(Proc === object))
      end

      private

      def elements(object)
        case object
        when Array then object.each_with_index.map { |part, index| ["[#{index}]", part] }
        when Hash then hash_elements(object)
        when Struct then object.each_pair.map { |member, part| [".#{member}", part] }
        when Data then object.to_h.map { |member, part| [".#{member}", part] }
        when Range then [[".begin", object.begin], [".end", object.end]]
        when Set then object.map { |part| [".to_a[#{part.inspect}]", part] }
        else []
        end
      end

      def hash_elements(hash)
        default = hash.default_proc || hash.default
        pairs = hash.flat_map { |key, part| [[".keys[#{key.inspect}]", key], ["[#{key.inspect}]", part]] }
        default.nil? ? pairs : [[".default", default], *pairs]
      end
    end
  end
end

require_relative "inspection"
require_relative "shareable/block"
require_relative "shareable/result"
