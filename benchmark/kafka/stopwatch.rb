# frozen_string_literal: true

require "json"

# Takes the time from the first message to 90 % of them, adds up what was read, and notes how long messages were on their
# way and how much memory was used meanwhile. Used by many threads.
class Stopwatch
  LIMIT = Integer(ENV.fetch("STOPWATCH_LIMIT", "90")) # seconds
  MARKS = 20 # samples of the memory

  def initialize(total)
    @total = total
    @goal = total * 9 / 10
    @lock = Mutex.new
    @done = ConditionVariable.new
    @count = @sum = 0
    @latencies = []
    @memory = []
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

  # @param time [Integer] nanoseconds of the monotonic clock, when the message was sent
  def sent_at(time)
    latency = (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - time) / 1e6
    @lock.synchronize { @latencies << latency }
    start
    add(1, 0)
  end

  # After a batch: notes the memory in use, if it is time for that.
  def sample
    @lock.synchronize { @memory << status("VmRSS") if @memory.size < @count * MARKS / @total }
  end

  # Prints the result, for the process that compares.
  def report
    limit = now + LIMIT
    @lock.synchronize { @done.wait(@lock, limit - now) until @count >= @total || now > limit }
    abort("only #{@count} of #{@total}") if @count < @total
    puts ::JSON.generate({rate: @goal / (@ended - @began), sum: @sum, peak_kb: status("VmHWM"), memory_kb: @memory, **latency})
    $stdout.flush
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  private

  # The first half is warming up: what had piled up before the consumer was there.
  def latency
    return {} if @latencies.empty?

    sorted = @latencies.drop(@latencies.size / 2).sort
    {p50_ms: sorted[sorted.size / 2], p99_ms: sorted[sorted.size * 99 / 100]}
  end

  def status(name)
    File.read("/proc/self/status")[/#{name}:\s+(\d+)/, 1].to_i
  end
end
