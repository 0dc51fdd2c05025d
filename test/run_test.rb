# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# What bin/test does with test classes that run side by side, and with processes that die.
class RunTest < GuildhallTest
  def test_each_class_runs_in_one_process_and_others_beside_it
    out, status = run_tests(<<~'RUBY')
      class OneTest < GuildhallTest
        def test_a = puts("one #{Process.pid}")
        def test_b = puts("one #{Process.pid}")
      end
      class TwoTest < GuildhallTest
        def self.apart? = true
        def test_a = meet("a", "b")
        def test_b = meet("b", "a")

        def meet(mine, other) # each waits for the other one
          File.write(File.join(ENV.fetch("FOLDER"), mine), "")
          eventually { File.exist?(File.join(ENV.fetch("FOLDER"), other)) }
        end
      end
    RUBY
    assert_predicate status, :success?, out
    pids = out.scan(/one (\d+)/).flatten
    assert_equal [2, 1], [pids.size, pids.uniq.size], out
    assert_includes out, "4 runs, "
  end

  def test_a_process_that_dies_fails_the_test_that_it_was_at
    out, status = run_tests(<<~'RUBY')
      class DyingTest < GuildhallTest
        def test_a = assert(true)
        def test_b = Process.kill(:KILL, Process.pid)
        def test_c = assert(true)
        def test_d = exit!(3)
        def test_e = assert_equal(1, 2)
        def test_f = raise(ArgumentError, "an error")
        def test_g = skip("a reason")
      end
      class LivingTest < GuildhallTest
        def test_a = assert(true)
      end
    RUBY
    assert_equal 1, status.exitstatus, out
    assert_includes out, "8 runs, 4 assertions, 3 failures, 1 errors, 1 skips"
    assert_match(/DyingTest#test_b.*\n.*the process that ran it has died: pid \d+ SIGKILL/, out)
    assert_match(/DyingTest#test_d.*\n.*the process that ran it has died: pid \d+ exit 3/, out)
    ["Expected: 1", "ArgumentError: an error", "1 × a reason: DyingTest#test_g"].each { |text| assert_includes out, text }
  end

  # They have not run before: each counts as one that only computes.
  def test_no_more_classes_run_at_once_than_the_machine_can_compute
    out, status = run_tests(<<~'RUBY', "-j", "50")
      MOST = TestProcesses::MOST_COMPUTING
      (MOST + 4).times do |number|
        eval(<<~CLASS)
          class Number#{number}Test < GuildhallTest
            def test_how_many_run
              folder = ENV.fetch("FOLDER")
              File.write(mine = File.join(folder, "running-#{number}"), "")
              eventually { File.exist?(File.join(folder, "full")) || running(folder) >= MOST }
              File.write(File.join(folder, "full"), "")
              sleep(0.05)
              assert_operator running(folder), :<=, MOST
            ensure
              File.delete(mine)
            end

            def running(folder) = Dir[File.join(folder, "running-*")].size
          end
        CLASS
      end
    RUBY
    assert_predicate status, :success?, out
  end

  def test_one_process_runs_all_of_it_itself
    out, status = run_tests(<<~'RUBY', "-j", "1")
      class OneTest < GuildhallTest
        def test_pid = puts("pid #{Process.pid}")
      end
      class TwoTest < GuildhallTest
        def test_pid = puts("pid #{Process.pid}")
      end
    RUBY
    assert_predicate status, :success?, out
    assert_equal [status.pid.to_s], out.scan(/pid (\d+)/).flatten.uniq
  end

  # Each with random numbers of its own.
  def test_a_process_that_is_forked_from_one_that_has_loaded_a_feature
    loaded = "$LOADED_FEATURES.grep(/erb\\.rb/).size"
    program = "require \"erb\"\nputs #{loaded}, ARGV.inspect, ENV['A'], Dir.pwd, $0, rand, Process.getpgrp == Process.pid; warn \"a warning\"; exit 3"
    first, second = Array.new(2) { run_forked(%w[erb], [program], "x", env: {"A" => "b"}, chdir: "/") }
    assert_equal ["1", '["x"]', "b", "/", "-e", "true"], first[0].lines(chomp: true).values_at(0, 1, 2, 3, 4, 6)
    assert_equal ["a warning\n", 3, false], [first[1], first[2].exitstatus, first[2].success?]
    refute_equal first[0].lines[5], second[0].lines[5]
    assert_equal "0\n", run_forked(%w[set], ["puts #{loaded}"]).first
  end

  def test_a_forked_process_that_does_not_end_as_it_should
    _, err, status = run_forked(%w[erb], ["raise 'a reason'"])
    assert_equal [1, true], [status.exitstatus, err.include?("a reason (RuntimeError)")]
    _, _, status = run_forked(%w[erb], ["Process.kill(:KILL, Process.pid)"])
    assert_equal [9, nil, false], [status.termsig, status.exitstatus, status.success?]
    error = assert_raises(Minitest::Assertion) { run_forked(%w[erb], ["sleep"], timeout: 2) }
    pid = Integer(error.message[/no end of (\d+)/, 1])
    eventually { gone?(pid) }
  end

  private

  def run_tests(code, *options)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "some_test.rb")
      File.write(path, "require \"test_helper\"\n#{code}")
      runner = File.expand_path("run.rb", __dir__)
      out, err, status = run_command([RbConfig.ruby, runner, *options, path], env: {"FOLDER" => folder, "COVERAGE_FOLDER" => nil})
      ["#{out}\n#{err}", status]
    end
  end

  def gone?(pid)
    Process.kill(0, pid)
    false
  rescue Errno::ESRCH
    true
  end
end
