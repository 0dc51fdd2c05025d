# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require_relative "results"

class Bench
  # Runs scripts, each in a process of its own, without YJIT and with it, shows their rows and keeps them.
  class Suite
    RUN = File.expand_path("../run.rb", __dir__)
    QUICK_SECONDS = 270 # for all of them together

    # @param names [Array<String>] of the scripts
    # @param arguments [Array<String>] handed to each
    # @param yjit [Boolean] once more with YJIT, where Ruby has it
    # @param run [String] the script that runs them
    # @param folder [String] where results are kept
    def initialize(names, arguments, yjit: true, run: RUN, folder: Results::FOLDER)
      @names = names.sort
      @failed = []
      @run = run
      @folder = folder
      @arguments = arguments
      @quick = arguments.include?("--quick")
      @ways = [[]]
      @ways << ["--yjit"] if yjit && !@quick && system(RbConfig.ruby, "--yjit", "-e", "", err: File::NULL)
    end

    # @return [Array<String>] scripts that did not end as they should
    attr_reader :failed

    # @return [Array<Results::Taken>]
    def run
      limit = @quick ? QUICK_SECONDS / @names.size.to_f : nil
      @names.product(@ways).filter_map { |name, way| take(name, way, limit) }
    end

    private

    def take(name, way, limit)
      warn("  #{name}#{" with YJIT" if way.any?} …")
      rows, failure, late = measured(name, way, limit)
      fail_with(name, failure) if failure
      return if rows.empty?

      rows.each { |row| puts line(row) }
      Results.save(name, rows, machine: machine(way), quick: @quick, cut: late ? "its time was up" : failure, folder: @folder)
    end

    def fail_with(name, failure)
      @failed |= [name]
      warn("  #{name} failed: #{failure}")
    end

    # Rows come one by one: those that are there when the time is up, or when it fails, count.
    # @return [Array(Array<Hash>, String, Boolean)] rows, why it failed (nil: it did not), whether its time was up
    def measured(name, way, limit)
      rows = []
      Open3.popen3(RbConfig.ruby, *way, @run, name, "--json", *@arguments, pgroup: true) do |input, out, err, waiter|
        input.close
        errors = Thread.new { err.read }
        killer = limit && Thread.new { end_group(waiter) unless waiter.join(limit) }
        out.each_line { |text| rows << JSON.parse(text) }
        late = killer&.value
        [rows, (failure(waiter.value, errors.value) unless late), late]
      ensure
        end_group(waiter) # when this was interrupted
      end
    end

    # @return [Boolean] whether it was still there
    def end_group(waiter)
      waiter.alive? && Process.kill(:KILL, -waiter.pid).positive?
    rescue Errno::ESRCH
      false # it has just ended
    end

    # @return [String, nil] its error, or what it said last
    def failure(status, errors)
      return if status.success?

      lines = errors.lines.map(&:strip).reject(&:empty?)
      lines.grep(/ \([A-Z][\w:]*\)\z|\[BUG\]/).first || lines.last || status.to_s
    end

    def machine(way)
      description = way.any? ? Machine.description.sub("(no YJIT)", "(YJIT)") : Machine.description
      "#{description}; #{Machine.ceiling}"
    end

    def line(row)
      format("    %-48s %-28s %8.2f  %s", row["row"], row["against"], row["ratio"], [row["note"], (if row["talk"]
                                                                                                     "(talk: #{row["talk"]})"
                                                                                                   end)].compact.join(" ")).rstrip
    end
  end
end
