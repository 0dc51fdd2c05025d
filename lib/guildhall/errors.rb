# frozen_string_literal: true

require_relative "printable"

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

  # A payload could not be decoded. Says where, as far as the codec knows; what it quotes is safe to log.
  class DecodeError < Error
    # @return [String, nil] the codec's name
    # @return [Integer, nil] the byte of the first fault, from 0
    # @return [Integer, nil] its line, from 1; nil for binary formats
    # @return [Integer, nil] its column in characters, from 1; nil for binary formats
    # @return [String, nil] where in the document: `$.user.roles[1]`
    # @return [String, nil] what stands there, in printable ASCII, 40 bytes at most
    attr_reader :codec, :offset, :line, :column, :path, :excerpt

    # @return [String, nil] what is wrong, without saying where
    attr_reader :reason

    REASON_CHARACTERS = 300
    PATH_CHARACTERS = 512
    EXCERPT_BYTES = 40
    private_constant :REASON_CHARACTERS, :PATH_CHARACTERS, :EXCERPT_BYTES

    # What is given may quote the payload: it is made safe here, whichever codec raises.
    # @param reason [String] what is wrong, without saying where
    def initialize(reason = nil, codec: nil, offset: nil, line: nil, column: nil, path: nil, excerpt: nil)
      @reason = Printable.words(reason, REASON_CHARACTERS)
      @codec = codec
      @offset = offset
      @line = line
      @column = column
      @path = Printable.words(path, PATH_CHARACTERS)
      @excerpt = Printable.bytes(excerpt, EXCERPT_BYTES)
      super(describe(@reason))
    end

    private

    def describe(reason)
      position = [("byte #{offset}" if offset), ("line #{line}, column #{column}" if line), path].compact
      [codec, [reason || "invalid payload", *("at #{position.join(", ")}" if position.any?)].join(" "),
       (excerpt if excerpt && !excerpt.empty?)].compact.join(": ")
    end
  end

  # An object has no form in the format it was to be encoded in.
  class EncodeError < Error; end

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

  # What is wrong with a schema itself. The message begins with its location.
  class SchemaError < Error
    # @return [String, nil] where in the schema: "#/properties/age"
    attr_reader :location

    # @param reason [String]
    # @param location [String, nil]
    def initialize(reason, location: nil)
      @location = location
      super([location, reason].compact.join(": "))
    end
  end

  # The pool has been shut down, or belongs to another process (the one before a fork).
  class PoolClosedError < Error; end

  # The pool has no room for another batch, and is set to say so.
  class PoolSaturatedError < Error; end

  # A batch was cancelled before this payload was begun.
  class CancelledError < Error; end

  # A worker died while it ran this payload, twice, or once where that is enough; or its reader's thread has ended.
  class WorkerDiedError < Error; end

  # A payload ran past its deadline; its worker was given up.
  class StuckError < Error; end

  # Stands for an exception of a task whose class is not known here.
  class TaskError < Error; end

  # Configuration or routes have faults; the message lists all of them.
  class ConfigurationError < Error; end
end
