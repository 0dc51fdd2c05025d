# frozen_string_literal: true

require "minitest"
require_relative "support/default_signals"
DefaultSignals.restore
require "guildhall"
require_relative "support/warnings_raise"
require_relative "support/subprocess"
require_relative "support/time_limit"
require_relative "support/test_times"

if Guildhall::Pool::I18nWorkaround::AFFECTED # before the first Ractor, which some tests make themselves
  require "i18n"
  require "tzinfo"
  Guildhall::Pool::I18nWorkaround.apply
end

# Every test case of the project: fails on warnings from our code and on what is left behind.
class GuildhallTest < Minitest::Test
  include Guildhall::LeakCheck::Minitest
  include Subprocess

  # @return [Numeric] seconds that a test may take, whatever it waits for
  def self.time_limit = Object.const_source_location(name)&.first.to_s.match?(%r{/test/(stress|cross)/}) ? TimeLimit::LONG_SECONDS : TimeLimit::SECONDS

  # @return [Boolean] whether each of its tests may run in another process, at the same time (support/test_processes.rb); else they run in
  #   one process, one after the other
  def self.apart? = false

  def run
    before = TestTimes.computing
    TimeLimit.watch("#{self.class}##{name}", self.class.time_limit) { super }.tap { |result| result.metadata[:computing] = TestTimes.computing - before }
  end

  # A test below `private` would never run, and nobody would notice.
  def self.runnable_methods
    hidden = private_instance_methods.grep(/\Atest_/)
    raise "#{self}: private tests never run: #{hidden.join(", ")}" if hidden.any?

    super
  end

  # Waits until the block is true: deadlines, not sleeps.
  # @param seconds [Numeric]
  def eventually(seconds = 60, message = "not so within #{seconds} s")
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (value = yield)
      flunk(message) if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep(0.002)
    end
    value
  end

  # What a Ractor's block returned, on every Ruby.
  def ractor_value(ractor)
    ractor.respond_to?(:value) ? ractor.value : ractor.take
  end
end
