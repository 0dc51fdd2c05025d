# frozen_string_literal: true

module Guildhall
  # Base of every error that Guildhall raises on its own account.
  class Error < StandardError; end

  # A method was called with something it cannot work with.
  class ArgumentError < Error; end

  # An object that has to cross Ractors is not shareable. The message names the path to what is not.
  class NotShareableError < Error
    # @return [String, nil] how to reach the offending object, such as `task.@rules[3]`; nil when unknown
    attr_reader :path

    # @param message [String]
    # @param path [String, nil]
    def initialize(message, path: nil)
      super(message)
      @path = path
    end
  end

  # A gem that Guildhall can work with, but does not depend on, is missing. The message names it.
  class MissingDependencyError < Error; end

  # A wait reached its deadline.
  class TimeoutError < Error; end

  # A payload could not be decoded.
  class DecodeError < Error; end

  # A payload was decoded but is not valid.
  class ValidationError < Error
    # @return [Array] what is wrong with it, as the validator says it; empty when it only says no
    attr_reader :faults

    # @param faults [Array]
    # @param stage [Symbol, nil] the name of the stage that validates
    def initialize(message = nil, faults: [], stage: nil)
      @faults = faults
      super(message || "#{stage || "validation"} failed#{": #{faults.join("; ")}" if faults.any?}")
    end
  end

  # The pool has been shut down, or belongs to another process (the one before a fork).
  class PoolClosedError < Error; end

  # Configuration or routes have faults; the message lists all of them.
  class ConfigurationError < Error; end
end
