# frozen_string_literal: true

require "etc"

class Bench
  # What the figures were taken on.
  module Machine
    # @return [String]
    def self.description
      yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? "YJIT" : "no YJIT"
      "Ruby #{RUBY_VERSION} (#{yjit}), #{Etc.nprocessors} cores#{", #{processor}" if processor}"
    end

    def self.processor
      File.read("/proc/cpuinfo")[/^model name\s*: (.+)$/, 1]
    rescue Errno::ENOENT
      nil
    end
  end
end
