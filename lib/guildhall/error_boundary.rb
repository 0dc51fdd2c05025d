# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # Runs code that is not ours: subscribers, timer jobs, callbacks, consumers. Whatever it raises is reported once, and the
  # thread that called it goes on. May be used by any thread of any Ractor.
  # @api private
  module ErrorBoundary
    ENDED = "the consumer's thread was ended while it ran (by Thread.exit, or at the shutdown's deadline)"
    private_constant :ENDED

    # Contains every error but those that end the process. SystemExit in another thread than the main one goes to the main
    # thread, as Ruby would send it there, but without ending the thread at hand.
    # @param report [#call] given what the block raised; what it raises itself goes to standard error
    # @return [Object, nil] what the block returned; nil where it raised
    # @raise [SignalException, SystemExit, Timeout::ExitException]
    def self.run(report)
      yield
    rescue Exception => error # rubocop:disable Lint/RescueException -- NotImplementedError and LoadError are not StandardErrors
      return report(report, error) unless ending?(error)
      raise unless error.is_a?(SystemExit) && !Thread.current.equal?(Thread.main)

      Thread.main.raise(error)
      nil
    end

    # Contains `exit` as well, and reports when the block ends its thread (`Thread.exit`), which nothing can rescue: for
    # consumers, whose `exit` must not end a runner, and must not look like success.
    # @param report [#call] given what the block raised, or a {TaskError}
    # @return [Object, nil] what the block returned; nil where it did not return
    def self.contain(report)
      value = yield
      ended = true
      value
    rescue Exception => error # rubocop:disable Lint/RescueException -- see above
      ended = true
      report.call(error)
      nil
    ensure
      report.call(TaskError.new(ENDED)) unless ended
    end

    # @param raised [Exception] by code that is not ours: to ask for its message may raise
    # @return [String] in UTF-8, and without what may quote a payload
    def self.message(raised) = Redaction.message(raised)

    # What interrupts the thread, and is not an error of the code that it runs.
    def self.ending?(error)
      [SystemExit, SignalException, ::Timeout::ExitException].any? { |kind| error.is_a?(kind) }
    end

    def self.report(report, error)
      report.call(error)
      nil
    rescue StandardError, ScriptError => second
      first, second = [error, second].map { |one| "#{one.class}: #{message(one)}" }
      last_resort("guildhall: #{first}; it could not be reported: #{second}")
    end

    def self.last_resort(text)
      $stderr.puts(text)
    rescue StandardError
      nil # standard error is closed: the error cannot be reported
    end
    private_class_method :ending?, :report, :last_resort
  end
end
