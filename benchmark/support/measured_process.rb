# frozen_string_literal: true

require "etc"
require "json"
require "open3"

class Bench
  # A process whose last line is JSON, with the CPU time and the peak of memory that it took.
  module MeasuredProcess
    # @param command [Array<String>]
    # @return [Hash{String=>Object}] of the line, and cpu_seconds, peak_kb
    def self.run(*command, environment: {}, chdir: Dir.pwd)
      before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      out, err, status, usage = measured(environment, command, chdir)
      abort("#{command.join(" ")}: #{status}\n#{err}\n#{out}") unless status.success?
      {"seconds" => Process.clock_gettime(Process::CLOCK_MONOTONIC) - before, **usage, **JSON.parse(out.lines.last)}
    end

    # @api private
    def self.measured(environment, command, chdir)
      Open3.popen3(environment, *command, chdir:) do |input, out, err, waiter|
        input.close
        usage = {"cpu_seconds" => 0.0, "peak_kb" => 0}
        watcher = Thread.new { usage.merge!(usage_of(waiter.pid)) { |_, before, now| [before, now].max } until waiter.join(0.05) }
        texts = [out, err].map { |io| Thread.new { io.read } }.map(&:value)
        watcher.join
        [*texts, waiter.value, usage]
      end
    end

    # @api private
    def self.usage_of(pid)
      user, system = File.read("/proc/#{pid}/stat").split(") ").last.split.values_at(11, 12).map(&:to_i)
      {"cpu_seconds" => (user + system) / Etc.sysconf(Etc::SC_CLK_TCK).to_f, "peak_kb" => File.read("/proc/#{pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i}
    rescue SystemCallError, NoMethodError # it has just ended
      {}
    end
    private_class_method :measured
  end
end
