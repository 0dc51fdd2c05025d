# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"

module Guildhall
  # The outcome of a payload whose task raised: frozen, shareable, and without a reference to the exception
  # itself, which could not leave its Ractor.
  #
  # @!attribute [r] error_class
  #   @return [String] the exception's class
  # @!attribute [r] backtrace
  #   @return [Array<String>] from the worker; the first {MAX_BACKTRACE_LINES} lines
  # @!attribute [r] index
  #   @return [Integer, nil] the payload's place in its batch
  # @!attribute [r] stage
  #   @return [Symbol, nil] the pipeline's stage that raised; nil outside pipelines
  # @!attribute [r] details
  #   @return [Hash{Symbol=>Object}] what else the exception had to say: offset, line and path of a DecodeError, say
  class Failure < Data.define(:error_class, :message, :backtrace, :index, :stage, :cause, :details)
    MAX_BACKTRACE_LINES = 50
    MAX_CAUSES = 5
    # Details that Ruby's own exceptions keep elsewhere than in an instance variable.
    CORE_READERS = {SystemExit => :status, KeyError => :key, NameError => :name}.freeze
    UNSHAREABLE_METHOD = "the method was made by define_method of a block, which workers cannot call: call it in the main Ractor, or use " \
                         "something else in the task"
    # With a fixed encoding, for UTF-8 texts only. Ruby 3.4 recompiles a Regexp without one when the text's encoding changes, and frees the
    # compiled code that another Ractor may be using: the process crashes.
    CONSTANT = /constant ([\w:]*\w)/u
    CONSTANT_NAME = /\w+\z/u
    UPPER = /\A[[:upper:]]/u
    FRAME = /\A.+?:\d+/u
    private_constant :CORE_READERS, :UNSHAREABLE_METHOD, :CONSTANT, :CONSTANT_NAME, :UPPER, :FRAME

    # The variable of an exception that has the name of the pipeline stage that raised it.
    STAGE = :@guildhall_stage
    private_constant :STAGE

    class << self
      # @api private
      # @param stage [Symbol] that raised the error; the first one counts, the innermost
      def mark(error, stage)
        error.instance_variable_set(STAGE, stage) unless error.frozen? || error.instance_variable_defined?(STAGE)
      end

      # @api private
      # @return [Symbol, nil] see {Pipeline.stage_of}
      def stage_of(error) = error.instance_variable_get(STAGE)

      # @param stage [Symbol, nil] nil: the one that a pipeline has left on the error
      def of(error, index = nil, stage = nil, causes = MAX_CAUSES)
        stage ||= stage_of(error)
        cause = of(error.cause, index, nil, causes - 1) if error.cause && causes.positive?
        new(error_class: name_of(error.class), message: text { [Printable.utf8(error.message.to_s), *advice(error)].join("; ") },
          backtrace: lines(error.backtrace), index:, stage:, cause:, details: details_of(error))
      end

      # @param code [Pool::TaskCode] has a refusal
      # @return [Failure] of a payload that is not run, because of what a worker found out with an earlier one
      def refused(code, index)
        of(IsolationError.refused(code), index)
      end

      # For a task that tried to leave through a `catch`, or a `break`, of its caller.
      def uncaught_throw(index)
        of(UncaughtThrowError.allocate.exception("the task used throw, break or return to leave its caller"), index)
      end

      # For a task that ended its worker, or its reader's thread.
      def fatal(index)
        of(WorkerDiedError.new("the worker, or the thread, that ran this payload has ended (Thread.exit in the task, say)"), index)
      end

      # For a payload that was not run: a worker got stuck in its batch, there are no workers any more, and a caller has no deadline.
      def workerless(index)
        of(WorkerDiedError.new("not run: no worker is left, because too many are stuck in payloads that exceeded their " \
                               "deadline; and the caller does not run what may never end"), index)
      end

      # For an exception whose own methods raise: its class is all that can be known.
      def unreadable(error, index)
        new(error_class: name_of(Shareable.type_of(error)), message: "(it cannot be asked for its message, backtrace or cause)",
          backtrace: [].freeze, index:, stage: nil, cause: nil, details: {}.freeze)
      end

      private

      def name_of(klass)
        (Module.instance_method(:name).bind_call(klass) || "an anonymous class").dup.freeze
      end

      # @return [String, nil] what to do about what goes wrong in workers alone
      def advice(error)
        return if Ractor.main?

        case error
        when NoMethodError then nil
        when NameError then "pool.warm_up(task) loads in the main Ractor what a task names" if constant?(error)
        when Ractor::IsolationError then advice_on_constant(Printable.valid(error.message)[CONSTANT, 1])
        when RuntimeError then UNSHAREABLE_METHOD if error.message.b.include?("defined with an un-shareable Proc") # in any encoding
        end
      end

      def advice_on_constant(name)
        return unless name

        "make it shareable: #{name[CONSTANT_NAME]} = Ractor.make_shareable(…), or, where a library defines it, " \
          "Ractor.make_shareable(#{name}) before the pool starts"
      end

      def constant?(error)
        error.name.to_s.match?(UPPER)
      end

      # An exception's own methods may raise in turn.
      def text
        String.new(yield.to_s).freeze
      rescue StandardError => error
        "(its message raised #{error.class})"
      end

      def lines(backtrace)
        Ractor.make_shareable((backtrace || []).first(MAX_BACKTRACE_LINES).map(&:to_s))
      end

      def details_of(error)
        names = error.instance_variables.select { |name| error.respond_to?(name.to_s.delete_prefix("@")) }
        pairs = names.filter_map do |name|
          value = shareable_copy(error.instance_variable_get(name))
          [name.to_s.delete_prefix("@").to_sym, value] unless value.nil?
        end
        Ractor.make_shareable(core_details(error).merge(pairs.to_h))
      end

      def core_details(error)
        readers = CORE_READERS.filter_map { |type, reader| reader if type === error }
        readers.to_h { |reader| [reader, shareable_copy(error.public_send(reader))] }.compact
      rescue ::ArgumentError # a KeyError without a key
        {}
      end

      # Copied: what the exception holds may belong to somebody. An IO is left out: its copy would keep the file or connection open.
      def shareable_copy(value)
        Ractor.shareable?(value) ? value : Shareable.result(value)
      rescue StandardError
        nil
      end
    end

    # A batch is shareable, and may refer only to objects that Ruby knows to be shareable. Frozen is not enough: asking makes
    # Ruby note it.
    def initialize(**)
      super
      Ractor.shareable?(self)
    end

    # @raise the exception's own class where it can be made again, else {TaskError}; with message, backtrace, details
    #   and cause
    def raise!
      raise(exception)
    end

    # As {#raise!}, with the payload's index in the message and as an attribute: see {PayloadError}.
    # @api private
    def raise_numbered!
      raise(Restoration.new(self, numbered: true).exception)
    end

    # @return [Exception] to be raised; `raise failure` works too
    def exception(*)
      Restoration.new(self).exception
    end

    # @return [Boolean] whether the task ended its worker, or its reader's thread: it may well do so again
    def fatal?
      error_class == WorkerDiedError.name
    end

    # @return [String] the line that raised: "file:line"
    def place
      Printable.valid(backtrace.first.to_s)[FRAME] || "unknown place"
    end

    # @return [String] class and message in a line
    def summary
      "#{error_class}: #{message.lines.first&.chomp}"
    end

    def inspect
      "#<Guildhall::Failure #{summary}#{" at payload #{index}" if index}#{" in #{stage}" if stage}>"
    end
    alias to_s inspect

    # Makes an exception of a Failure again, of the original class where this Ractor knows it.
    # @api private
    class Restoration
      # @param numbered [Boolean] whether it is to say which payload it was
      def initialize(failure, numbered: false)
        @failure = failure
        @numbered = numbered && failure.index
      end

      def exception
        error = original_class ? restored : TaskError.new(@failure.summary)
        Failure.mark(error, @failure.stage) if @failure.stage
        number(error) if @numbered
        error.set_backtrace(@failure.backtrace)
        with_cause(error)
      end

      private

      def original_class
        found = Object.const_get(@failure.error_class)
        found if found.is_a?(Class) && found <= Exception
      rescue NameError
        nil
      end

      # Without the class's own `initialize`, whose arguments are unknown; but an Errno:: class is rescued by its number.
      def restored
        error = core || (numbered? ? original_class.new : original_class.allocate)
        Exception.instance_method(:initialize).bind_call(error, @failure.message)
        @failure.details.each { |name, value| error.instance_variable_set(:"@#{name}", value) }
        error
      end

      # Only `initialize` can set the details of Ruby's own errors (the status of SystemExit, the key of KeyError): they are built with it.
      def core
        details = @failure.details
        return SystemExit.new(details.fetch(:status, 1)) if original_class == SystemExit
        return KeyError.new(@failure.message, receiver: nil, key: details[:key]) if original_class == KeyError && details.key?(:key)

        original_class.new(@failure.message, details[:name]) if [NameError, NoMethodError].include?(original_class)
      end

      def numbered?
        original_class < SystemCallError && original_class.const_get(:Errno).is_a?(Integer)
      end

      def number(error)
        error.instance_variable_set(:@guildhall_payload_index, @failure.index)
        error.extend(PayloadError)
      end

      # Ruby sets a cause only by raising.
      def with_cause(error)
        return error unless @failure.cause

        raise error, cause: @failure.cause.exception
      rescue Exception => error # rubocop:disable Lint/RescueException -- the one raised just above
        error.set_backtrace(@failure.backtrace)
        error
      end
    end
  end
end
