# frozen_string_literal: true

require "etc"
require "rbconfig"

class Bench
  # What the figures were taken on.
  module Machine
    # @return [String]
    def self.description
      yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? "YJIT" : "no YJIT"
      "Ruby #{RUBY_VERSION} (#{yjit}), #{Etc.nprocessors} cores#{", #{processor}" if processor}"
    end

    # Counts for 0.3 s once it is told to begin.
    COUNTING = <<~'RUBY'
      $stdout.sync = true
      puts "ready"
      gets
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.3
      count = 0
      1_000.times { count += 1 } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
      puts count
    RUBY
    private_constant :COUNTING

    # Virtual cores are often halves of one: no way of working in parallel can be faster than this. Blocks for a second.
    # @return [String] what one process a core comes to, against a single one
    def self.ceiling
      cores = Etc.nprocessors
      ratio = Array.new(3) { counted(cores) / counted(1) }.sort[1]
      format("%<cores>d processes that only count do %<ratio>.2f × the work of one", cores:, ratio:)
    end

    def self.counted(processes)
      pipes = Array.new(processes) { IO.popen([RbConfig.ruby, "--disable=gems", "-e", COUNTING], "r+").tap(&:gets) }
      pipes.each(&:puts)
      pipes.sum { |pipe| pipe.gets.to_f }
    ensure
      pipes&.each(&:close)
    end
    private_class_method :counted

    # @return [String, nil]
    def self.processor
      File.read("/proc/cpuinfo")[/^model name\s*: (.+)$/, 1]
    rescue Errno::ENOENT
      nil
    end
  end
end
