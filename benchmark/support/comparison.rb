# frozen_string_literal: true

require_relative "median"

class Bench
  # Times several callables in turn, so that whatever the machine does meets all of them.
  class Comparison
    # @param contenders [Array<#call>] ours first
    def initialize(contenders)
      @contenders = contenders
    end

    # Calls each once, which warms it up, and compares what they return.
    # @yieldparam results [Array]
    def check(name)
      results = @contenders.map(&:call)
      right = block_given? ? yield(results) : results.uniq.size == 1
      abort("#{name}: wrong results, nothing is timed: #{results.map { |result| result.inspect[0, 200] }.join(" | ")}") unless right
    end

    # @return [Array<Float>] for each contender but the first: its time over the first one's, the median of all rounds
    def ratios(rounds)
      times = Array.new(rounds) { |round| round_of(round) }
      (1...@contenders.size).map { |index| Bench.median(times.map { |round| round[index] / round[0] }) }
    end

    private

    # Every other round goes backwards: nobody always comes first.
    def round_of(round)
      order = @contenders.each_index.to_a
      order.reverse! if round.odd?
      order.to_h { |index| [index, time(@contenders[index])] }
    end

    def time(contender)
      GC.start
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      contender.call
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    end
  end
end
