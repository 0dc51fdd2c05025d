# frozen_string_literal: true

require "minitest"
require "guildhall"
require_relative "support/warnings_raise"
require_relative "support/subprocess"

if Guildhall::Pool::EarlyVariables::AFFECTED # before the first Ractor, which some tests make themselves
  require "i18n"
  require "tzinfo"
  Guildhall::Pool::EarlyVariables.make
end

# Every test case of the project: fails on warnings from our code and on what is left behind.
class GuildhallTest < Minitest::Test
  include Guildhall::LeakCheck::Minitest
  include Subprocess

  # A test below `private` would never run, and nobody would notice.
  def self.runnable_methods
    hidden = private_instance_methods.grep(/\Atest_/)
    raise "#{self}: private tests never run: #{hidden.join(", ")}" if hidden.any?

    super
  end

  # Waits until the block is true: deadlines, not sleeps.
  # @param seconds [Numeric]
  def eventually(seconds = 10, message = "not so within #{seconds} s")
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
