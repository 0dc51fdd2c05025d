# frozen_string_literal: true

require_relative "median"

class Bench
  # Times several callables in turn, so that whatever the machine does meets all of them.
  class Comparison
    # @param contenders [Array<#call>] ours first
    # @param warm_up [Numeric] seconds each
    def initialize(contenders, warm_up: 0.2)
      @contenders = contenders
      @warm_up = warm_up
    end

    # Calls each once and compares what they return; then for a moment more, because what is cold says little.
    # @yieldparam results [Array]
    def check(name)
      results = @contenders.map(&:call)
      right = block_given? ? yield(results) : results.uniq.size == 1
      abort("#{name}: wrong results, nothing is timed: #{results.map { |result| result.inspect[0, 200] }.join(" | ")}") unless right
      @contenders.each { |contender| warm_up(contender) }
    end

    # @return [Array<Float>] for each contender but the first: its time over the first one's, the median of all rounds
    def ratios(rounds)
      times = Array.new(rounds) { |round| round_of(round) }
      (1...@contenders.size).map { |index| Bench.median(times.map { |round| round[index] / round[0] }) }
    end

    private

    def warm_up(contender)
      limit = now + @warm_up
      contender.call while now < limit
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Every other round goes backwards, so that none always comes first.
    def round_of(round)
      order = @contenders.each_index.to_a
      order.reverse! if round.odd?
      order.to_h { |index| [index, time(@contenders[index])] }
    end

    def time(contender)
      GC.start
      began = now
      contender.call
      now - began
    end
  end
end
