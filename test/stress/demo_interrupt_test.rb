# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The main job, interrupted with Ctrl-C at twenty random moments and resumed with the same group each time: every message
# is handled, and none of a clean stop is handled twice. Needs a real broker: an embedded one ends with its process.
class DemoInterruptTest < GuildhallTest
  ROOT = File.expand_path("../..", __dir__)
  COMMAND = [RbConfig.ruby, File.join(ROOT, "examples/demo.rb"), "--messages", "20000"].freeze
  INTERRUPTS = 20
  IN_TIME = 5 # seconds

  def setup
    skip("KAFKA_BOOTSTRAP_SERVERS is not set") if ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?
    @random = Random.new(Minitest.seed || Random.new_seed)
    @topic = "demo-interrupt-#{Process.pid}-#{@random.rand(1_000_000)}"
  end

  def test_every_message_is_handled_once
    Dir.mktmpdir do |folder|
      parts = File.join(folder, "parts")
      INTERRUPTS.times { interrupted_run(parts, File.join(folder, "out")) }
      assert_predicate complete_run("parts", parts), :success?
      whole = File.join(folder, "whole")
      assert_predicate complete_run("whole", whole), :success?
      handled = File.readlines(parts)
      assert_equal handled.uniq.size, handled.size, "some were handled twice"
      assert_equal File.readlines(whole).sort, handled.sort, "some were lost"
    end
  end

  private

  def interrupted_run(record, log)
    pid = spawn(*COMMAND, "--topic", @topic, "--group", "#{@topic}-parts", "--record", record, out: log, err: %i[child out])
    eventually { File.exist?(log) && File.read(log).include?("broker at") }
    sleep(@random.rand * 4)
    Process.kill(:INT, pid)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    status = eventually { Process.wait2(pid, Process::WNOHANG) }.last
    took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    assert_operator took, :<, IN_TIME, "it took #{took.round(1)} s to stop: #{File.read(log)}"
    assert_includes [0, 130], status.exitstatus || 130, File.read(log)
  end

  def complete_run(group, record)
    out, err, status = run_command([*COMMAND, "--topic", @topic, "--group", "#{@topic}-#{group}", "--record", record])
    puts out, err unless status.success?
    status
  end
end
