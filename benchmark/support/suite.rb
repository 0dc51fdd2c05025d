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
    def initialize(names, arguments, yjit: true)
      @names = names.sort
      @arguments = arguments
      @quick = arguments.include?("--quick")
      @ways = [[]]
      @ways << ["--yjit"] if yjit && !@quick && system(RbConfig.ruby, "--yjit", "-e", "", err: File::NULL)
    end

    # @return [Array<Results::Taken>]
    def run
      limit = @quick ? QUICK_SECONDS / @names.size.to_f : nil
      @names.product(@ways).filter_map { |name, way| take(name, way, limit) }
    end

    private

    def take(name, way, limit)
      warn("  #{name}#{" with YJIT" if way.any?} …")
      rows, error, cut = measured(name, way, limit)
      return warn("  #{name} failed: #{error.lines.last}") if rows.empty?

      rows.each { |row| puts line(row) }
      Results.save(name, rows, machine: machine(way), quick: @quick, cut:)
    end

    # Rows come one by one: those that are there when the time is up, count.
    def measured(name, way, limit)
      rows = []
      error = +""
      Open3.popen3(RbConfig.ruby, *way, RUN, name, "--json", *@arguments, pgroup: true) do |input, out, err, waiter|
        input.close
        errors = Thread.new { error << err.read }
        killer = limit && Thread.new { waiter.join(limit) || Process.kill(:KILL, -waiter.pid) }
        out.each_line { |text| rows << JSON.parse(text) }
        [errors, killer].compact.each(&:join)
        [rows, error, waiter.value.signaled?]
      end
    end

    def machine(way) = way.any? ? Machine.description.sub("(no YJIT)", "(YJIT)") : Machine.description

    def line(row)
      format("    %-48s %-28s %8.2f  %s", row["row"], row["against"], row["ratio"], [row["note"], (if row["talk"]
                                                                                                     "(talk: #{row["talk"]})"
                                                                                                   end)].compact.join(" ")).rstrip
    end
  end
end
