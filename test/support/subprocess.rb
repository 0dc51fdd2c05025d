# frozen_string_literal: true

require "open3"
require "rbconfig"

# Runs Ruby code in a process of its own, with the environment of this one.
module Subprocess
  # @param code [String] Ruby source
  # @param timeout [Numeric] seconds, after which the process is killed and the test fails
  # @return [Array(String, String, Process::Status)] stdout, stderr and status
  def run_ruby(code, *arguments, timeout: 60, env: {}, options: [])
    run_command([RbConfig.ruby, *options, "-e", code, *arguments], timeout:, env:)
  end

  # @return [String] stdout; the test fails unless the process succeeds
  def assert_ruby(code, *arguments, **)
    out, err, status = run_ruby(code, *arguments, **)
    assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
    out
  end

  def run_command(command, timeout: 60, env: {}, chdir: WarningsRaise::ROOT)
    Open3.popen3(env, *command, chdir:) do |input, out, err, waiter|
      input.close
      readers = [out, err].map { |io| Thread.new { io.read } }
      unless waiter.join(timeout)
        Process.kill(:KILL, waiter.pid)
        waiter.join
        flunk("no end after #{timeout} s: #{command.first(4).join(" ")}\n#{readers.map(&:value).join("\n")}")
      end
      [*readers.map(&:value), waiter.value]
    end
  end
end
