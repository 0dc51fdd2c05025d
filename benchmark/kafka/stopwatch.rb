# frozen_string_literal: true

require "json"

# Takes the time from the first message to 90 % of them, and adds up what was read. Used by many threads.
class Stopwatch
  LIMIT = 90 # seconds

  def initialize(total)
    @total = total
    @goal = total * 9 / 10
    @lock = Mutex.new
    @done = ConditionVariable.new
    @count = @sum = 0
  end

  # Before a batch.
  def start
    @began ||= now
  end

  # After a batch.
  def add(count, sum)
    @lock.synchronize do
      @count += count
      @sum += sum
      @ended ||= now if @count >= @goal
      @done.signal if @count >= @total
    end
  end

  # Prints the result, for the process that compares.
  def report
    limit = now + LIMIT
    @lock.synchronize { @done.wait(@lock, limit - now) until @count >= @total || now > limit }
    abort("only #{@count} of #{@total}") if @count < @total
    peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i
    puts ::JSON.generate({rate: @goal / (@ended - @began), sum: @sum, peak_kb: peak})
    $stdout.flush
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
