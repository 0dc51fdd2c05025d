# frozen_string_literal: true

require "json"

# What the pool is measured against, and how.
module PoolPeers
  # Worker Ractors as they are written by hand: a batch cut in as many parts as there are workers, parsed with
  # `freeze: true`, sent back.
  class Usual
    PARSE = ->(part) { part.map { |text| JSON.parse(text, freeze: true) } } # here, because self has to be shareable

    def initialize(workers)
      @main = PoolPeers.inbox
      @workers = Array.new(workers) { |number| PoolPeers.worker(@main, number, PARSE) }
    end

    def map(texts)
      parts = texts.each_slice((texts.size / @workers.size.to_f).ceil).map(&:freeze)
      parts.each_with_index { |part, index| @workers[index].send(Ractor.make_shareable(part)) }
      Array.new(parts.size) { PoolPeers.take(@main) }.sort_by(&:first).flat_map(&:last)
    end

    def close
      @workers.each { |worker| worker.send(nil) }
    end
  end

  # Pure Ruby that validates and transforms; its garbage is a String for each letter.
  module Letters
    def self.call(text)
      sum = 0
      text.each_char { |letter| sum = ((sum * 31) + letter.ord) % 1_000_003 if letter >= "0" }
      sum
    end
  end

  # The gem ractor-pool (Ruby 4.0 only).
  class Gem
    # @return [Boolean]
    def self.there?
      require "ractor-pool"
      true
    rescue LoadError
      false
    end

    def initialize(workers)
      @results = Thread::Queue.new
      results = @results
      @pool = RactorPool.new(size: workers, worker: proc { |text| text }) { |result| results << result }
    end

    def call(text)
      @pool << text
      @results.pop
    end

    def map(texts)
      texts.each { |text| @pool << text }
      Array.new(texts.size) { @results.pop }
    end

    def close
      @pool.shutdown
    end
  end

  # Forked processes that have their part of the payloads, and do all of it on request.
  class Processes
    def initialize(count, payloads, task)
      @children = payloads.each_slice((payloads.size / count.to_f).ceil).map { |part| start(part, task) }
    end

    # @return [Array] the results in order
    def map
      @children.each { |_, orders, _| orders.syswrite(".") }
      @children.flat_map { |_, _, results| Marshal.load(results) } # rubocop:disable Security/MarshalLoad -- our own
    end

    def close
      @children.each do |pid, *pipes|
        Process.kill(:KILL, pid)
        Process.wait(pid)
        pipes.each(&:close)
      end
    end

    private

    def start(part, task)
      mine, orders = IO.pipe
      results, theirs = IO.pipe
      pid = fork do
        [orders, results].each(&:close)
        theirs.sync = true
        theirs.write(Marshal.dump(part.map { |payload| task.call(payload) })) while mine.read(1)
        exit!(0)
      end
      [mine, theirs].each(&:close)
      [pid, orders, results]
    end
  end

  class << self
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def seconds
      began = now
      yield
      now - began
    end

    # Ports came with 4.0.
    def inbox = defined?(Ractor::Port) ? Ractor::Port.new : Ractor.current
    def take(inbox) = inbox == Ractor.current ? Ractor.receive : inbox.receive

    def worker(inbox, number, work)
      Ractor.new(inbox, number, Ractor.make_shareable(work)) do |target, own, job|
        while (item = Ractor.receive)
          target.send([own, Ractor.make_shareable(job.call(item))].freeze)
        end
      end
    end

    # So many threads that never stop, for as long as the block runs.
    def while_busy(count)
      threads = Array.new(count) { Thread.new { loop { 1 + 1 } } }
      yield
    ensure
      threads.each(&:kill).each(&:join)
    end

    def resident = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024.0
  end
end
