# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"

module Guildhall
  # Finds out about a callable before it is called.
  # @api private
  module Callable
    POSITIONAL = %i[req opt].freeze
    MESSAGE = [%i[req message].freeze].freeze
    private_constant :POSITIONAL, :MESSAGE

    # @return [#call] the task
    # @raise [Guildhall::ArgumentError] for what cannot be called
    def self.check!(task)
      return task if task.respond_to?(:call)

      raise Guildhall::ArgumentError, "a task needs the method `call`; #{Shareable.article(task.class)} has none"
    end

    # @return [Boolean] whether it takes `(value, metadata)` rather than `(value)` alone
    def self.takes_metadata?(callable)
      return callable.takes_metadata? if callable.respond_to?(:takes_metadata?) # it hands them on

      takes_two?(callable.is_a?(Proc) ? callable : callable.method(:call))
    end

    # A block may call its payload a message.
    # @param call [Method, UnboundMethod, Proc]
    # @return [Boolean] whether it seems to take a message, as Karafka's deserializers do
    def self.takes_message?(call) = !call.is_a?(Proc) && call.parameters == MESSAGE

    # @param codec [#prepare] takes `(payloads)`, or `(payloads, metadata)`
    # @param metadata [Array, nil] one for each payload
    def self.prepare(codec, payloads, metadata = nil)
      takes_two?(codec.method(:prepare)) ? codec.prepare(payloads, metadata) : codec.prepare(payloads)
    end

    # @return [Boolean] whether it takes two positional arguments or more
    def self.takes_two?(method)
      return false if method.is_a?(Proc) && method.lambda? && method.arity.between?(0, 1) # most are

      parameters = method.is_a?(Proc) ? method.parameters(lambda: true) : method.parameters
      parameters.count { |kind, _| POSITIONAL.include?(kind) } >= 2
    end
  end
end
