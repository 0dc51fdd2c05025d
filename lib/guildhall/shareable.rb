# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # Finds out whether an object may cross Ractors and, where it may not, which part of it is the reason.
  # All methods may be called from any Ractor; none blocks; none freezes or changes what it is given.
  module Shareable
    # @param object [Object]
    # @param name [String] what the caller calls the object, the root of the path in the message
    # @return [Object] the object itself
    # @raise [NotShareableError] naming the path to the first part that is not shareable
    def self.check!(object, name = "object")
      return object if Ractor.shareable?(object)

      path, culprit = find(object, name)
      raise NotShareableError.new("#{path} is not shareable: #{describe(culprit)}", path: path)
    end

    # Like {check!}, but makes a lambda shareable first (which freezes it, and needs a shareable `self`).
    # @param callable [#call]
    # @param name [String]
    # @return [#call] a shareable callable
    # @raise [NotShareableError]
    def self.callable!(callable, name = "task")
      return check!(callable, name) unless callable.is_a?(Proc)
      return callable if Ractor.shareable?(callable)

      Ractor.respond_to?(:shareable_proc) ? shareable_proc(callable) : Ractor.make_shareable(callable)
    rescue ::ArgumentError, Ractor::IsolationError => error
      raise proc_error(callable, name, error)
    end

    # @param object [Object]
    # @param name [String]
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

    class << self
      private

      def shareable_proc(callable)
        callable.lambda? ? Ractor.shareable_lambda(self: nil, &callable) : Ractor.shareable_proc(self: nil, &callable)
      end

      def parts(object)
        variables = object.instance_variables.map { |name| [".#{name}", object.instance_variable_get(name)] }
        variables + elements(object)
      end

      def elements(object)
        case object
        when Array then object.each_with_index.map { |part, index| ["[#{index}]", part] }
        when Hash then hash_elements(object)
        when Struct then object.each_pair.map { |member, part| [".#{member}", part] }
        else []
        end
      end

      def hash_elements(hash)
        hash.flat_map { |key, part| [[".keys[#{key.inspect}]", key], ["[#{key.inspect}]", part]] }
      end

      def describe(object)
        return "a Proc (#{object.source_location&.join(":")}); make it with Ractor.shareable_proc" if object.is_a?(Proc)

        return "a #{object.class} cannot be shared between Ractors" if object.frozen?

        "a #{object.class} that is not frozen; freeze it, or make it with Ractor.make_shareable"
      end

      def proc_error(callable, name, error)
        return self_error(callable, name) if error.message.include?("self is not shareable")

        outer = callable.binding.local_variables.find { |local| error.message.include?(local.to_s) }
        path = outer ? "#{name}'s variable #{outer}" : name
        NotShareableError.new("#{path} cannot be shared: #{error.message} (#{callable.source_location&.join(":")}); " \
                              "use a frozen object with `call`, or let the block capture only shareable values", path: path)
      end

      # Ruby 3.4 keeps the self of a block; 4.0 lets us leave it out.
      def self_error(callable, name)
        where = callable.source_location&.join(":")
        NotShareableError.new("#{name}'s self (a #{callable.binding.receiver.class}) is not shareable (#{where}); on Ruby " \
                              "#{RUBY_VERSION} write the block in a class or module body, or use a frozen object with `call`",
          path: "#{name}.self")
      end
    end
  end
end
