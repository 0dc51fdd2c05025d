# frozen_string_literal: true

# The pool beside the same work done by hand: in one thread, with the usual pattern of worker Ractors, in forked processes.

require "json"
require "guildhall/pool"
require "guildhall/json"
require_relative "support/bench"
require_relative "support/pool_peers"
require_relative "data/corpus"

Warning[:experimental] = false

# The rows; each method measures one line of the table in the documentation.
class PoolRows
  LAZY = Guildhall::JSON.lazy
  EAGER = Guildhall::JSON
  SIZES = Corpus::SIZES.slice("0.7 KB", "5 KB", "19 KB").freeze
  FIELDS = ->(order) { [order["id"], order["type"], order["currency"], order["user"]["email"], order["user"]["name"]] }

  # Nothing at all.
  module Identity
    def self.call(payload) = payload
  end

  # In the worker.
  module TellTime
    def self.call(_) = PoolPeers.now
  end

  def initialize(bench)
    @bench = bench
    @pool = Guildhall::Pool.new
    @orders = SIZES.transform_values { |size| Corpus.new(bytes: size * 500).orders(size).cycle.first(500) }
  end

  # Of one name or a few that are measured together, without their common beginning.
  ROWS = %i[documents hashes never_slower dear_literals dear_once literals busy_main identity callers small_beside_big pure_ruby memory off
            idle].freeze

  def run
    ROWS.each { |row| send(row) if @bench.wanted?("pool.#{row}") }
  ensure
    @pool.shutdown
  end

  private

  # As a consumer works: a batch after the other, and none is kept, so that everybody pays for the garbage that they make.
  def stream(&batch)
    lambda do
      7.times(&batch)
      batch.call
    end
  end

  # The pool compares both ways.
  def settle(texts, task)
    limit = PoolPeers.now + 0.2
    @pool.map(texts, task) while PoolPeers.now < limit
  end

  # JSON.parse in one thread is what everybody has.
  def documents
    @orders.each do |name, texts|
      next unless @bench.wanted?("pool.documents #{name}")

      settle(texts, LAZY)
      @bench.compare("pool.documents #{name}", stream { @pool.map(texts, LAZY).map(&FIELDS) },
        {"JSON.parse" => stream { texts.map { |text| FIELDS.call(JSON.parse(text)) } }},
        goals: {"JSON.parse" => {"0.7 KB" => 3, "5 KB" => 5.5, "19 KB" => 7}[name]}, rounds: rounds * 2)
    end
  end

  def hashes
    usual = PoolPeers::Usual.new(@pool.settings.workers)
    @orders.each do |name, texts|
      next unless @bench.wanted?("pool.hashes #{name}")

      settle(texts, EAGER)
      @bench.compare("pool.hashes #{name}", stream { @pool.map(texts, EAGER) },
        {"JSON.parse" => stream { texts.map { |text| JSON.parse(text) } }, "usual Ractor pool" => stream { usual.map(texts) }},
        goals: {"JSON.parse" => name == "19 KB" ? 1.2 : 1.3, "usual Ractor pool" => 2})
    end
  ensure
    usual.close
  end

  # Against the same codec called in a loop; where that is looser, within a microsecond a batch.
  def never_slower
    @orders.each do |name, texts|
      [1, 10, 100, 1000, 10_000].each do |count|
        next unless @bench.wanted?("pool.never_slower #{name} × #{count}")
        next if count == 10_000 && (name != "0.7 KB" || @bench.quick?)

        never_slower_row(name, texts.cycle.first(count), count)
      end
    end
  end

  def never_slower_row(name, batch, count)
    times = [2000 / count, 1].max
    plain = -> { times.times { batch.map { |text| LAZY.call(text) } } }
    ours = -> { times.times { @pool.map(batch, LAZY) } }
    settle(batch, LAZY)
    pairs = Array.new(rounds * 3) { [PoolPeers.seconds(&plain), PoolPeers.seconds(&ours)] }
    ratio = Bench.median(pairs.map { |one, two| one / two })
    extra = Bench.median(pairs.map { |one, two| (two - one) / times })
    goal = count >= 100 && name != "0.7 KB" ? 1.3 : 0.97
    ratio = [ratio, goal].max if extra < 1e-6 && goal < 1
    @bench.row("pool.never_slower #{name} × #{count}", against: "same codec inline", ratio:, goal:,
      note: format("%+.2f µs a batch", extra * 1e6))
  end

  # Counts: work without garbage.
  module Count
    def self.call(turns)
      turns -= 1 while turns.positive?
      turns
    end

    # @return [Integer] turns that keep one thread busy for `milliseconds`
    def self.turns(milliseconds)
      times = Array.new(5) { PoolPeers.seconds { call(1_000_000) } }
      (milliseconds * 1000 / times.min).round
    end
  end

  # A lambda that is written at the call, a few payloads: nothing is remembered of the task but its code.
  def dear_literals
    payloads = [Count.turns(5)] * 8
    call = -> { PoolPeers.seconds { @pool.map(payloads, ->(turns) { Count.call(turns) }) } }
    call.call # starts the workers
    pairs = Array.new(rounds * 3) { [PoolPeers.seconds { payloads.each { |turns| Count.call(turns) } }, call.call] }
    @bench.row("pool.dear_literals 8 × 5 ms", against: "one thread", ratio: Bench.median(pairs.map { |one, ours| one / ours }), goal: 1.5)
  end

  # A script that maps once: workers and all.
  def dear_once
    payloads = [Count.turns(20)] * 40
    pairs = Array.new([rounds / 2, 1].max) { [PoolPeers.seconds { payloads.each { |turns| Count.call(turns) } }, once(payloads)] }
    @bench.row("pool.dear_once 40 × 20 ms", against: "one thread", ratio: Bench.median(pairs.map { |one, ours| one / ours }), goal: 1.8)
  end

  def once(payloads)
    pool = Guildhall::Pool.new
    PoolPeers.seconds { pool.map(payloads, ->(turns) { Count.call(turns) }) }
  ensure
    pool.shutdown
  end

  # Nothing is left of a lambda after its call.
  def literals
    call = -> { 2000.times { @pool.map([1, 2, 3], ->(number) { number + 1 }) } }
    call.call
    GC.start
    before = PoolPeers.resident
    times = Array.new(rounds) { PoolPeers.seconds(&call) / 2000 }
    grown = PoolPeers.resident - before
    @bench.row("pool.literals × 3", against: "2 µs a map", ratio: 2e-6 / times.min, goal: 1, note: format("%.2f µs", times.min * 1e6))
    @bench.row("pool.literals × 3, memory", against: "2 MB", ratio: 2 / [grown, 0.1].max, goal: 1, note: format("%+.1f MB", grown))
  end

  # A worker needs nothing from the main Ractor while it has work.
  def busy_main
    pool = Guildhall::Pool.new(workers: 1)
    texts = @orders["5 KB"]
    idle = throughput(pool, texts)
    [1, 5].each do |busy|
      ratio = PoolPeers.while_busy(busy) { throughput(pool, texts) } / idle
      @bench.row("pool.busy_main #{busy}", against: "idle main Ractor", ratio:, goal: 0.8)
    end
  ensure
    pool.shutdown
  end

  # Until the worker says so itself, behind all the others, so that the reader's turns do not count.
  def throughput(pool, texts)
    batches = @bench.quick? ? 20 : 60
    began = PoolPeers.now
    batches.times { pool.dispatch(texts, LAZY, source: 1, parallel: true) }
    ended = pool.dispatch([nil], TellTime, source: 1, parallel: true).value.first
    (batches * texts.size) / (ended - began)
  end

  def identity
    return @bench.note("pool.identity: no ractor-pool here (it needs Ruby 4.0)") unless PoolPeers::Gem.there?

    texts = @orders["0.7 KB"]
    peer = PoolPeers::Gem.new(@pool.settings.workers)
    raise "wrong results" unless peer.map(texts).sort == @pool.map(texts, Identity, parallel: true).sort

    one_by_one(texts, peer)
    theirs = Bench.median(Array.new(rounds) { PoolPeers.seconds { 4.times { peer.map(texts) } } / 2000 })
    {"pool.identity × 500" => [nil, 20], "pool.identity × 500, forced" => [true, 10]}.each do |name, (parallel, goal)|
      ours = Bench.median(Array.new(rounds) { PoolPeers.seconds { 40.times { @pool.map(texts, Identity, parallel:) } } / 20_000 })
      @bench.row(name, against: "ractor-pool", ratio: theirs / ours, goal:, note: "#{(1 / ours).round} a second, #{(1 / theirs).round} theirs")
    end
  ensure
    peer&.close
  end

  def one_by_one(texts, peer)
    theirs = Bench.median(Array.new(rounds) { PoolPeers.seconds { 500.times { |index| peer.call(texts[index]) } } / 500 })
    ours = Bench.median(Array.new(rounds) { PoolPeers.seconds { 5000.times { |index| @pool.map([texts[index % 500]], Identity) } } / 5000 })
    @bench.row("pool.identity one by one", against: "ractor-pool", ratio: theirs / ours, goal: 3, note: "#{(1 / ours).round} a second")
  end

  def callers
    batch = @orders["5 KB"].first(200)
    many_callers(8, batch)
    pairs = Array.new(rounds) { [many_callers(1, batch), many_callers(8, batch)] }
    @bench.row("pool.callers 8", against: "one caller's throughput", goal: 0.95,
      ratio: Bench.median(pairs.map { |one, eight| eight.size.fdiv(one.size) }))
    times = pairs.flat_map(&:last).sort
    @bench.row("pool.callers 8, p99", against: "2.5 × p50", ratio: 2.5 * times[times.size / 2] / times[times.size * 99 / 100], goal: 1)
  end

  # @return [Array<Float>] the times of all batches that were done within half a second
  def many_callers(count, batch)
    limit = PoolPeers.now + 0.5
    Array.new(count) { Thread.new { caller_loop(limit, batch) } }.flat_map(&:value)
  end

  def caller_loop(limit, batch)
    times = []
    times << PoolPeers.seconds { @pool.map(batch, LAZY) } while PoolPeers.now < limit
    times
  end

  def small_beside_big
    small = @orders["5 KB"].first(50)
    big = @orders["5 KB"].cycle.first(10_000)
    20.times { @pool.map(small, LAZY) }
    alone = Bench.median(Array.new(rounds * 3) { PoolPeers.seconds { @pool.map(small, LAZY) } })
    beside = Array.new(rounds * 3) do
      future = @pool.dispatch(big, LAZY, parallel: true)
      time = PoolPeers.seconds { @pool.map(small, LAZY) }
      future.cancel
      future.wait
      time
    end
    @bench.row("pool.small_beside_big", against: "3 × its time alone", ratio: 3 * alone / Bench.median(beside), goal: 1)
  end

  # Void where two processes do not reach 1.5 × either.
  def pure_ruby
    texts = @orders["0.7 KB"]
    Guildhall.before_fork
    processes = PoolPeers::Processes.new(2, texts, PoolPeers::Letters)
    contenders = [-> { @pool.map(texts, PoolPeers::Letters, parallel: true) }, -> { texts.map { |text| PoolPeers::Letters.call(text) } }, -> { processes.map }]
    raise "wrong results" unless contenders.map(&:call).uniq.size == 1

    ours, one, forked = Array.new(rounds) { contenders.map { |work| alone(&work) } }.transpose.map { |times| Bench.median(times) }
    void = one / forked < 1.5
    @bench.row("pool.pure_ruby", against: "two forked processes", ratio: forked / ours, goal: void ? nil : 0.85,
      note: format("one thread: ours %.2f ×, the processes %.2f ×%s", one / ours, one / forked, void ? ": void" : ""))
  ensure
    processes&.close
  end

  # Without the garbage of the rows before.
  def alone(&)
    GC.start
    PoolPeers.seconds(&)
  end

  def off
    texts = @orders["0.7 KB"].first(100)
    off = Guildhall::Pool.new(workers: 0)
    pairs = Array.new(rounds * 5) do
      [PoolPeers.seconds { 200.times { texts.map { |text| LAZY.call(text) } } }, PoolPeers.seconds { 200.times { off.map(texts, LAZY) } }]
    end
    extra = Bench.median(pairs.map { |plain, ours| (ours - plain) / 200 })
    nanoseconds = extra * 1e9
    ratio = nanoseconds <= 0 ? 10 : [56 / nanoseconds, 10].min
    @bench.row("pool.off", against: "56 ns a batch", ratio:, goal: 1, note: format("%+.0f ns", nanoseconds))
  end

  def idle
    @pool.map(@orders["0.7 KB"], Identity, parallel: true)
    sleep(0.5) # of workers that the row before has ended one may still be starting
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    sleep(@bench.quick? ? 2 : 10)
    used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    @bench.row("pool.idle", against: "5 ms of CPU over #{@bench.quick? ? 2 : 10} s", ratio: 0.005 / [used, 1e-4].max, goal: 1)
  end

  # In processes of their own: in this one the memory of the rows before is there to be used again.
  def memory
    each, bare = %w[pool ractor].map { |kind| Bench.median(Array.new(rounds) { worker_memory(kind) }) }
    @bench.row("pool.memory.worker", against: "0.3 MB", ratio: 0.3 / [each, 0.01].max, goal: 1, note: format("%.2f MB", each))
    @bench.row("pool.memory.worker", against: "a bare Ractor", ratio: bare / [each, 0.01].max, goal: 1, note: format("%.2f MB", bare))
  end

  def worker_memory(kind)
    script = File.join(__dir__, "support/pool_memory.rb")
    IO.popen([RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, script, kind], &:read).to_f
  end

  def rounds = @bench.rounds
end

Bench.script("pool") { |bench| PoolRows.new(bench).run }
