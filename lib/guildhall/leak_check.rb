# frozen_string_literal: true

require "guildhall/errors" # of another gem: not by relative path
require "guildhall/clock"
require "guildhall/error_boundary"

module Guildhall
  # A block has left threads, Ractors or file descriptors behind, or the process has grown more than it may: see {LeakCheck.check}.
  class LeakError < StandardError
    include Error

    # @return [Array<LeakCheck::Growth::Leak>] empty where only memory has grown
    attr_reader :leaks

    def initialize(message, leaks = [].freeze)
      super(message)
      @leaks = leaks
    end
  end

  # Finds threads, Ractors and file descriptors that a piece of code leaves behind, and the memory by which the process has grown.
  # For tests, see also {LeakCheck::Minitest} and `guildhall/leak_check/rspec`; for processes in production, {.watch}.
  # Threads and Ractors are counted by the file and line of their block, without the main ones, those that Timeout, FFI and librdkafka
  # start once and keep, and those of C libraries; file descriptors by their file or socket, and memory as resident bytes (both on Linux).
  # Main Ractor.
  module LeakCheck
    GRACE = 5 # seconds for what is about to end
    PAUSE = 0.02
    private_constant :PAUSE

    autoload :Minitest, File.expand_path("leak_check/minitest.rb", __dir__)

    # Runs the block, and then waits until what it started has ended.
    # @param grace [Numeric] seconds to wait at most
    # @param memory [Integer, nil] bytes by which the process may have grown; nil: any number. Garbage is collected first: what the
    #   block would free of earlier work must not hide what it keeps.
    # @return [Object] what the block returns
    # @raise [LeakError] naming what is left, and where it was created
    def self.check(grace: GRACE, memory: nil)
      GC.start if memory
      before = snapshot
      value = yield
      growth = settled(before, grace:, memory:)
      raise LeakError.new("left behind: #{growth}", growth.leaks) if growth.leak?(memory)

      value
    end

    # Runs the block and says what it left behind; raises nothing.
    # @param grace [Numeric] seconds to wait for what is about to end
    def self.growth(grace: GRACE)
      before = snapshot
      yield
      settled(before, grace:)
    end

    # @return [Snapshot] what there is now
    def self.snapshot
      Snapshot.take
    end

    # Waits until nothing is left of what was started since, or the time is up.
    # @param grace [Numeric] seconds
    # @param memory [Integer, nil] see {.check}
    def self.settled(before, grace: GRACE, memory: nil)
      limit = Clock.now + grace
      paused = nil
      while (growth = Growth.new(before, snapshot)).leak?(memory)
        return growth if Clock.now > limit

        GC.start if paused # most of it ends by itself, and a collection costs more than a pause
        paused = sleep(PAUSE)
      end
      growth
    end

    # Looks at the process from time to time, in a thread of its own, and reports what keeps growing.
    # @param every [Numeric] seconds
    # @param least [Integer] the growth since the beginning from which a creation site is reported
    # @param logger [Logger, nil] nil: standard error
    # @yieldparam growth [Growth] called instead of logging
    # @return [Watcher] stop it with `stop`
    def self.watch(every: 60, least: 10, logger: nil, &report)
      Watcher.new(every:, least:, logger:, report:).start
    end
  end
end

require_relative "leak_check/snapshot"
require_relative "leak_check/watcher"
