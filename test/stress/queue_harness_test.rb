# frozen_string_literal: true

require "test_helper"
require "support/c_program"

# The queue's C that knows no Ruby, driven by plain threads under the sanitizers.
class QueueHarnessTest < GuildhallTest
  include CProgram

  SECONDS = Integer(ENV.fetch("STRESS_SECONDS", "20"))

  def test_without_a_sanitizer = drive([])

  def test_address_and_undefined_behaviour
    drive(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
  end

  # It does not know fences; no order of plain accesses here depends on one.
  def test_data_races = drive(["-fsanitize=thread"])

  private

  def drive(flags)
    with_threads_program(flags: ["-DGUILDHALL_FUTEX", *flags]) do |program|
      out, err, status = run_command([program, SECONDS.to_s], timeout: SECONDS + 120)
      assert_predicate status, :success?, out + err
      assert_operator out[/(\d+) rounds/, 1].to_i, :>, 0
    end
  end
end
