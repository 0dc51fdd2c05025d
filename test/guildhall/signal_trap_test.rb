# frozen_string_literal: true

require "test_helper"
require "guildhall/signal_trap"
require "guildhall/instrumentation"

class SignalTrapTest < GuildhallTest
  def test_it_tells_a_handler_from_other_code
    refute_predicate Guildhall::SignalTrap, :active?
    assert in_a_trap { Guildhall::SignalTrap.active? }
  end

  def test_what_needs_a_lock_is_refused_in_a_handler_only
    assert_nil Guildhall::SignalTrap.refuse!
    instrumentation = Guildhall::Instrumentation.new(%w[event])
    [-> { Guildhall::SignalTrap.refuse! }, -> { instrumentation.subscribe("event") { nil } }, -> { instrumentation.unsubscribe(nil) }].each do |call|
      error = in_a_trap(&call)
      assert_instance_of Guildhall::SignalTrapError, error
      assert_match(/call it in another thread/, error.message)
    end
  end

  private

  # @return [Object] what the block returns, or raises, in the handler of a signal
  def in_a_trap
    answers = Thread::Queue.new
    previous = trap("USR2") do
      answers << yield
    rescue Guildhall::Error => error
      answers << error
    end
    Process.kill(:USR2, Process.pid)
    answers.pop(timeout: 60)
  ensure
    trap("USR2", previous || "DEFAULT")
  end
end
