# frozen_string_literal: true

require "test_helper"
require "support/c_program"
require "support/cross_target"

# The queue's C that needs no Ruby, driven by threads, where processors order memory otherwise and C libraries sleep otherwise.
class CrossQueueTest < GuildhallTest
  include CProgram
  extend CrossTarget::Tests

  SECONDS = Integer(ENV.fetch("STRESS_SECONDS", "5"))

  test_on_each_target("queue") { |target| drive(["-static", *target.flags], target.compiler, target.emulator) }

  def test_queue_without_futexes_here = drive([])

  private

  def drive(flags, compiler = CProgram::COMPILER, emulator = [])
    with_threads_program(flags:, compiler:) do |program|
      out, err, status = run_command([*emulator, program, SECONDS.to_s], timeout: SECONDS + 120)
      assert_predicate status, :success?, out + err
      assert_operator out[/(\d+) rounds/, 1].to_i, :>, 0
    end
  end
end
