# frozen_string_literal: true

require "timeout"
require_relative "printable"
require_relative "redaction"

module Guildhall
  # Every error that Guildhall raises on its own account includes this: `rescue Guildhall::Error` rescues them all. Each class
  # also descends from Ruby's own, where Ruby has one: `rescue ArgumentError` or `rescue Timeout::Error` work as well.
  module Error; end

  # A method was called with something it cannot work with.
  class ArgumentError < ::ArgumentError
    include Error
  end

  # A queue takes no more items, because it has been closed.
  class ClosedQueueError < ::ClosedQueueError
    include Error
  end

  # An object that has to cross Ractors is not shareable. The message names the path to what is not.
  class NotShareableError < ::Ractor::Error
    include Error

    # @return [String, nil] how to reach the offending object, such as `task.@rules[3]`; nil when unknown
    attr_reader :path

    def initialize(message, path: nil)
      super(message)
      @path = path
    end
  end

  # Every error that `map` and `value` raise for a payload includes this, whatever its class: it says which payload it was.
  module PayloadError
    # @return [Integer] the payload's place in its batch
    def payload_index = @guildhall_payload_index

    def message = "#{super} (#{@guildhall_payloads || "payload #{payload_index}"})"
  end

  # A task touches what only the main Ractor may: an unshareable constant, a global variable, an unshareable `self`. It is refused
  # wherever it would run. The message names the thing, its place, and what to change.
  class IsolationError < ::Ractor::IsolationError
    include Error

    # @return [Array<Inspection::Finding>] what was found by reading the task; empty where a worker came upon it
    attr_reader :findings

    # @param code [Pool::TaskCode] has a refusal
    def self.refused(code)
      new("#{code.name} cannot run on workers, and so nowhere: #{code.refusal.message} (#{code.refusal.place})")
    end

    def initialize(message, findings: [].freeze)
      super(message)
      @findings = findings
    end
  end

  # A gem that Guildhall can work with, but does not depend on, is missing. The message names it. Not a LoadError: that is not a
  # StandardError and would end the thread or the worker that comes upon it.
  class MissingDependencyError < StandardError
    include Error
  end

  # A method that needs a lock was called in a signal's handler (`Signal.trap`): the thread that was interrupted may hold it.
  class SignalTrapError < ::ThreadError
    include Error
  end

  # A wait reached its deadline.
  class TimeoutError < ::Timeout::Error
    include Error
  end

  # What an error about a payload, or about an object that was to become one, quotes of it. The message does not, so that it can be
  # logged; `detailed_message`, and so what Ruby and consoles print of an error that nobody rescues, does.
  # @api private
  module Excerpt
    # @return [String, nil] a part of it, in printable ASCII, on one line
    attr_reader :excerpt

    # @return [String] the message with the excerpt
    def detailed_message(...) = [super, *(excerpt unless excerpt.to_s.empty?)].join(": ")
  end

  # A payload could not be decoded. Says where, as far as the codec knows. The message names properties, never values: those are in
  # {#excerpt}.
  class DecodeError < StandardError
    include Error
    include Excerpt

    # @return [String, nil] the codec's name
    # @return [Integer, nil] the byte of the first error, from 0
    # @return [Integer, nil] its line, from 1; nil for binary formats
    # @return [Integer, nil] its column in characters, from 1; nil for binary formats
    # @return [String, nil] where in the document: `$.user.roles[1]`
    attr_reader :codec, :offset, :line, :column, :path

    # @return [String, nil] what is wrong, without saying where
    attr_reader :reason

    REASON_CHARACTERS = 300
    PATH_CHARACTERS = 512
    EXCERPT_BYTES = 40
    private_constant :REASON_CHARACTERS, :PATH_CHARACTERS, :EXCERPT_BYTES

    # What is given comes from the payload: control characters and length are taken care of here, whichever codec raises.
    # @param reason [String] what is wrong, without saying where, and without the value
    # @param excerpt [String, nil] the text there; 40 bytes of it are kept
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
      position = [("byte #{offset}" if offset), ("line #{line}" if line), ("column #{column}" if column), path].compact
      [codec, [reason || "invalid payload", *("at #{position.join(", ")}" if position.any?)].join(" ")].compact.join(": ")
    end
  end

  # An object has no form in the format it was to be encoded in. The message does not quote it: {#excerpt} does.
  class EncodeError < StandardError
    include Error
    include Excerpt

    EXCERPT_CHARACTERS = 80
    private_constant :EXCERPT_CHARACTERS

    # @param excerpt [String, nil] the object, or a part of it; 80 characters are kept
    def initialize(message = nil, excerpt: nil)
      super(message)
      @excerpt = Printable.words(excerpt, EXCERPT_CHARACTERS)
    end
  end

  # A `decode_batch` or `call_batch` answered with more or fewer results than it was given payloads.
  class BatchSizeError < StandardError
    include Error
  end

  # A payload was decoded but is not valid.
  class ValidationError < StandardError
    include Error

    # @return [Array] what is wrong with it, as the validator says it; empty when it only says no
    attr_reader :errors

    # @param stage [Symbol, nil] the name of the stage that validates
    def initialize(message = nil, errors: [], stage: nil)
      @errors = errors
      super(message || "#{stage || "validation"} failed#{": #{errors.join("; ")}" if errors.any?}")
    end
  end

  # What is wrong with a schema itself. The message begins with its location.
  class SchemaError < StandardError
    include Error

    # @return [String, nil] where in the schema: "#/properties/age"
    attr_reader :location

    def initialize(reason, location: nil)
      @location = location
      super([location, reason].compact.join(": "))
    end
  end

  # The pool has been shut down, or belongs to another process (the one before a fork).
  class PoolClosedError < ::IOError
    include Error
  end

  # A pool was made or asked for outside the main Ractor.
  class WrongRactorError < ::Ractor::Error
    include Error
  end

  # The pool has no room for another batch, and is set to say so.
  class PoolSaturatedError < StandardError
    include Error
  end

  # Workers have not ended in time, or the process cannot be forked while they live.
  class PoolBusyError < StandardError
    include Error
  end

  # A batch was cancelled before this payload was begun.
  class CancelledError < StandardError
    include Error
  end

  # A worker died while it ran this payload, twice, or once where that is enough; or its reader's thread has ended; or no worker is left
  # for it, and a worker got stuck in its batch.
  class WorkerDiedError < StandardError
    include Error
  end

  # A payload ran past its deadline; its worker was abandoned.
  class StuckError < TimeoutError; end

  # Replaces an exception of a task whose class is not known here.
  class TaskError < StandardError
    include Error
  end

  # Configuration or routes are wrong; the message lists all that is.
  class ConfigurationError < ArgumentError
    # Of a command that it has ended (EX_CONFIG of sysexits.h): to start again as it is helps nobody.
    EXIT_STATUS = 78
  end

  # A setting was read that does not exist, as in `config.deserializing.paralel.concurrency = 2`. The message names its place.
  class UnknownSettingError < ::NoMethodError
    include Error
  end
end
