# frozen_string_literal: true

require "minitest"

# A limit for whatever a test waits for without one of its own: `Thread#value`, `Process.wait`, a read from a pipe. When the time is up,
# the test fails where it is, and says where all threads are; if even that does not end it, the run ends.
module TimeLimit
  SECONDS = Integer(ENV.fetch("TEST_LIMIT", "900"))
  LONG_SECONDS = 4 * 3600 # for what takes long on purpose
  GRACE = 60 # seconds for what a test does when it is left
  EVERY = 1
  Entry = Struct.new(:name, :thread, :ends, :told)
  private_constant :GRACE, :EVERY, :Entry

  @lock = Mutex.new
  @entries = {}.compare_by_identity

  class << self
    # @param name [String] of what runs in the block
    # @param seconds [Numeric]
    # @return [Object] what the block returns
    # @raise [Minitest::Assertion] in the block
    def watch(name, seconds = SECONDS)
      @lock.synchronize do
        @entries[Thread.current] = Entry.new(name, Thread.current, now + seconds, false)
        @watcher = start unless @watcher&.alive?
      end
      yield
    ensure
      @lock.synchronize { @entries.delete(Thread.current) }
    end

    # @return [String] where each thread of this process is
    def whereabouts
      Thread.list.map { |thread| [thread.inspect, *thread.backtrace&.first(15)&.map { |line| "  #{line}" }].join("\n") }.join("\n")
    end

    private

    def start
      Thread.new do
        loop do
          sleep(EVERY)
          @lock.synchronize { @entries.each_value { |entry| look_at(entry) } }
        end
      end.tap { |thread| thread.name = "time limit of tests" }
    end

    def look_at(entry)
      return if now < entry.ends

      give_up(entry) if entry.told
      entry.told = true
      entry.ends += GRACE
      message = "#{entry.name} has not ended in time; what it waits for needs a limit:\n#{whereabouts}"
      warn(message) # now: what is left may wait, too
      entry.thread.raise(Minitest::Assertion, message)
    end

    def give_up(entry)
      warn("#{entry.name} cannot be ended:\n#{whereabouts}")
      exit!(1)
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
