# frozen_string_literal: true

require "open3"
require "rbconfig"
require_relative "template_process"

# Runs commands and Ruby code in processes of their own, with the environment of this one.
module Subprocess
  LIMIT = 240 # seconds: a process that takes 20 on its own, on a machine that is busy with other things
  WITHOUT_GEMS = {"RUBYOPT" => ENV["RUBYOPT"]&.gsub(%r{-r\S*bundler/setup\S*}, ""), "RUBYLIB" => $LOAD_PATH.join(File::PATH_SEPARATOR)}.freeze

  # @param code [String] Ruby source
  # @param timeout [Numeric] seconds, after which the process is killed and the test fails
  # @param gems [Boolean] false: without RubyGems and Bundler; what is required is found in the folders of this process. Such a process starts
  #   in a fifth of the time, and has a fifth of the objects: for code that collects or compacts many times
  # @return [Array(String, String, Process::Status)] stdout, stderr and status
  def run_ruby(code, *arguments, timeout: LIMIT, env: {}, options: [], gems: true)
    options = ["--disable=gems", *options] unless gems
    env = {**WITHOUT_GEMS, **env} unless gems
    run_command([RbConfig.ruby, *options, "-e", "# encoding: UTF-8\n#{code}", *arguments], timeout:, env:) # where no LANG is set, too
  end

  # @return [String] stdout; the test fails unless the process succeeds
  def assert_ruby(code, *arguments, **)
    out, err, status = run_ruby(code, *arguments, **)
    assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
    out
  end

  def run_command(command, timeout: LIMIT, env: {}, chdir: WarningsRaise::ROOT)
    Open3.popen3(env, *command, chdir:, pgroup: true) do |input, out, err, waiter|
      input.close
      readers = [out, err].map { |io| Thread.new { io.read } }
      flunk(late(command, timeout, waiter, readers)) unless waiter.join(timeout)
      [*readers.map(&:value), waiter.value]
    ensure
      end_group(waiter) # when this was interrupted
    end
  end

  # Ruby in a process that is forked from one that has required the features: see TemplateProcess.
  # @param script [String, Array(String)] a file, or the text of one that stands alone
  # @return [Array(String, String, TemplateProcess::Status)] stdout, stderr and status
  def run_forked(features, script, *arguments, timeout: LIMIT, env: {}, chdir: WarningsRaise::ROOT)
    (out, out_end), (err, err_end) = Array.new(2) { IO.pipe }
    template = TemplateProcess.with(*features)
    pids = Thread::Queue.new
    readers = [out, err].map { |io| Thread.new { io.read } }
    running = Thread.new { template.run(script, arguments, env:, chdir:, out: out_end, err: err_end) { |pid| pids << pid } }
    unless running.join(timeout)
      stacks = stacks(pid = pids.pop)
      kill_group(pid)
      flunk("no end of #{pid} after #{timeout} s: #{Array(script).first.lines.first(4).join}\n#{readers.map(&:value).join("\n")}\n#{stacks}")
    end
    [*readers.map(&:value), running.value]
  ensure
    kill_group(pids.pop) if running&.alive? && pid.nil? # when this was interrupted
    [running, *readers].compact.each(&:join)
    [out, err].compact.each(&:close)
  end

  # Code that begins with what it requires: that much is loaded once for all such code.
  # @return [String] stdout; the test fails unless the process succeeds
  def assert_forked(code, **)
    required = code.lines.take_while { |line| line.match?(/\A(?:require ".+"|#.*|\s*)$/) }.filter_map { |line| line[/\Arequire "(.+)"/, 1] }
    out, err, status = run_forked(required, ["# encoding: UTF-8\n#{code}"], **)
    assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
    out
  end

  private

  def late(command, timeout, waiter, readers)
    stacks = stacks(waiter.pid)
    end_group(waiter)
    "no end after #{timeout} s: #{command.first(4).join(" ")}\n#{readers.map(&:value).join("\n")}\n#{stacks}"
  end

  # Where its native threads are: of a process in which Ruby cannot say it any more.
  # @return [String] as much as this machine tells
  def stacks(pid)
    out, = Open3.capture2e("gdb", "-p", pid.to_s, "-batch", "-ex", "thread apply all bt 15")
    out
  rescue SystemCallError # there is no gdb
    Dir["/proc/#{pid}/task/*/{comm,wchan}"].map { |file| "#{file}: #{File.read(file)}" }.join("\n")
  end

  # With its children, which have our pipes as well.
  def end_group(waiter)
    kill_group(waiter.pid) if waiter.alive?
  ensure
    waiter.join
  end

  def kill_group(pid)
    Process.kill(:KILL, -pid)
  rescue Errno::ESRCH
    nil # it has just ended
  end
end
