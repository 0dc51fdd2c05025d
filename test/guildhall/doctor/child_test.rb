# frozen_string_literal: true

require "test_helper"
require "guildhall/doctor"

class DoctorChildTest < Minitest::Test
  Child = Guildhall::Doctor::Child

  def test_what_the_work_writes
    child = Child.new(30) { |writer| writer.write("x" * 200_000) }
    assert_equal ["x" * 200_000, nil, false], [child.output, child.crash, child.late?]
  end

  def test_work_that_prints_much_runs_to_its_end
    child = Child.new(30) { |writer| 300.times { warn("y" * 1_000) } && writer.write("done") }
    assert_equal ["done", nil, false], [child.output, child.crash, child.late?]
  end

  def test_a_crash
    child = Child.new(30) { Process.kill(:KILL, Process.pid) && sleep }
    assert_equal ["SIGKILL", false], [child.crash, child.late?]
  end

  # Ruby hangs there where the thread that crashed holds malloc's lock.
  def test_a_crash_whose_report_never_ends
    started = Guildhall::Clock.now
    child = Child.new(600) do
      $stderr.write("app.rb:7: [BUG] Segmentation fault at 0x0000000000000008\n#{RUBY_DESCRIPTION}\n")
      sleep
    end
    assert_equal "Segmentation fault at 0x0000000000000008", child.crash
    assert_operator Guildhall::Clock.now - started, :<, 300
  end

  def test_work_that_has_no_end
    child = Child.new(0.2) { sleep }
    assert_equal [nil, true], [child.crash, child.late?]
  end
end
