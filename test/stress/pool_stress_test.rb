# frozen_string_literal: true

require "test_helper"

# Everything at once, in processes of their own, with an account at the end: every payload that was dispatched has exactly
# one outcome, in order, and it is the right one.
class PoolStressTest < GuildhallTest
  SECONDS = Integer(ENV.fetch("STRESS_SECONDS", 20))

  PREAMBLE = <<~'RUBY'
    require "guildhall/pool"
    SECONDS = ARGV[0].to_f
    RANDOM = Random.new(Integer(ENV.fetch("SEED", 7)))

    # Returns the payload's number, unless the payload asks for trouble.
    module Work
      def self.call(payload)
        number, kind = payload.split
        case kind
        when "raise" then raise("number #{number}")
        when "slow" then sleep(0.002)
        when "die" then Thread.exit
        when "stuck" then sleep(0.6)
        when "garbage" then Array.new(2000) { "x" * 30 }
        end
        Integer(number)
      end
    end

    KINDS = [nil] * 40 + %w[raise slow slow garbage]
    def batch(size, extra = []) = Array.new(size) { |number| "#{number} #{[*KINDS, *extra].sample(random: RANDOM)}".freeze }

    # What each outcome must be.
    def check(payloads, outcomes, also = [])
      raise "#{outcomes.size} outcomes of #{payloads.size}" unless outcomes.size == payloads.size

      payloads.zip(outcomes) do |payload, outcome|
        number, kind = payload.split
        allowed = {"raise" => ["RuntimeError"], "die" => ["Guildhall::WorkerDiedError"], "stuck" => ["Guildhall::StuckError"]}.fetch(kind, [])
        right = outcome.is_a?(Guildhall::Failure) ? [*allowed, *also].include?(outcome.error_class) && [Integer(number), nil].include?(outcome.index) : outcome == Integer(number)
        raise "payload #{payload.inspect} came to #{outcome.inspect}" unless right
      end
      $checked = ($checked || 0) + outcomes.size
    end

    def meanwhile(threads) = threads.map { |block| Thread.new(&block) }
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    LIMIT = now + SECONDS
    def go_on? = now < LIMIT
    quiet = Object.new
    %i[debug info warn error fatal].each { |severity| quiet.define_singleton_method(severity) { |_| } }
    QUIET = quiet
  RUBY

  def test_deaths_of_workers_and_supervisors
    scenario(<<~RUBY)
      pool = Guildhall::Pool.new(workers: 3, limits: Guildhall::Pool::Limits.new(breaker_deaths: 1_000_000), logger: QUIET)
      killer = Thread.new do
        while go_on?
          sleep(0.05)
          Thread.list.find { |thread| thread.name == "guildhall supervisor" }&.kill
        end
      end
      meanwhile([-> {
        while go_on?
          payloads = batch(200, ["die"])
          check(payloads, pool.dispatch(payloads, Work, parallel: true).results(timeout: 60))
        end
      }] * 4).each(&:join)
      killer.join
    RUBY
  end

  def test_deadlines_cancels_resizes
    scenario(<<~RUBY)
      pool = Guildhall::Pool.new(workers: 2, limits: Guildhall::Pool::Limits.new(max_abandoned: 50), logger: QUIET)
      resizer = Thread.new { (sleep(0.03); pool.resize(RANDOM.rand(1..4))) while go_on? }
      meanwhile([
        -> { (payloads = batch(60, ["stuck"]).tap { |all| all[1..].map! { |one| one.sub("stuck", "") } }
              check(payloads, pool.dispatch(payloads, Work, parallel: true, deadline: 0.3).results(timeout: 60), ["Guildhall::StuckError"])) while go_on? },
        -> { (payloads = batch(500)
              future = pool.dispatch(payloads, Work, parallel: RANDOM.rand(2).zero?)
              sleep(0.001)
              future.cancel
              check(payloads, future.results(timeout: 60), ["Guildhall::CancelledError"])) while go_on? },
        -> { (payloads = batch(100); check(payloads, pool.dispatch(payloads, Work, parallel: true).each.to_a)) while go_on? }
      ]).each(&:join)
      resizer.join
    RUBY
  end

  def test_everything_at_once
    scenario(<<~RUBY)
      pool = Guildhall::Pool.new(workers: 3, limits: Guildhall::Pool::Limits.new(breaker_deaths: 1_000_000, max_abandoned: 50), capacity: 500, logger: QUIET)
      killer = Thread.new do
        while go_on?
          sleep(0.02)
          Thread.list.find { |thread| thread.name == "guildhall supervisor" }&.kill
        end
      end
      resizer = Thread.new { (sleep(0.03); pool.resize(RANDOM.rand(1..4))) while go_on? }
      callbacks = Thread::Queue.new
      expected = 0
      call_back = lambda do |payloads|
        pool.dispatch(payloads, Work, parallel: true).on_complete { |future| check(payloads, future.results); callbacks << true }
      end
      meanwhile([
        -> { (payloads = batch(200, ["die"])
              check(payloads, pool.dispatch(payloads, Work, parallel: true, source: :one, priority: 2).results(timeout: 60))) while go_on? },
        -> { (payloads = batch(50, ["die"]); check(payloads, pool.dispatch(payloads, Work, parallel: true, source: :one).each.to_a)) while go_on? },
        -> { (payloads = batch(1); check(payloads, pool.dispatch(payloads, Work, parallel: true, deadline: 30).results(timeout: 60))) while go_on? },
        -> { (payloads = batch(30); check(payloads, pool.results(payloads, Work))) while go_on? },
        -> { (payloads = batch(20)
              seen = []
              pool.dispatch(payloads, Work).each_ready { |outcome, index| seen[index] = outcome }
              check(payloads, seen)) while go_on? },
        -> { (expected += 1
              call_back.call(batch(20))
              sleep(0.005)) while go_on? }
      ]).each(&:join)
      [killer, resizer].each(&:join)
      expected.times { callbacks.pop(timeout: 60) or raise("a callback is missing") }
    RUBY
  end

  def test_thread_raise_storms
    scenario(<<~RUBY)
      class Storm < StandardError; end
      pool = Guildhall::Pool.new(workers: 2, logger: QUIET)
      readers = Array.new(4) do |index|
        Thread.new do
          while go_on?
            payloads = batch(100)
            begin
              future = pool.dispatch(payloads, Work, parallel: [true, false, nil][index % 3])
            rescue Storm
              retry
            end
            begin
              outcomes = future.results(timeout: 60)
              check(payloads, outcomes, ["Storm"]) # what ran in this thread when it was struck
            rescue Storm
              retry
            end
          end
        rescue Storm
          retry
        end
      end
      (sleep(0.002); readers.sample(random: RANDOM).then { |thread| thread.raise(Storm) if thread.alive? }) while go_on?
      readers.each { |thread| thread.join(60) or raise("a reader hangs") }
    RUBY
  end

  def test_garbage_collection_and_compaction
    scenario(<<~RUBY)
      pool = Guildhall::Pool.new(workers: 2, logger: QUIET)
      collector = Thread.new { (GC.start; GC.compact if RUBY_VERSION.to_f >= 4; sleep(0.01)) while go_on? }
      while go_on?
        payloads = batch(300)
        check(payloads, pool.results(payloads, Work, parallel: true))
        check(payloads, pool.results(payloads, Work))
      end
      collector.join
      GC.stress = true
      payloads = batch(20)
      check(payloads, pool.results(payloads, Work, parallel: true))
      GC.stress = false
    RUBY
  end

  def test_forks
    skip "Ruby #{RUBY_VERSION} cannot be forked while Ractors live" if RUBY_VERSION.to_f < 4.0
    scenario(<<~'RUBY')
      pool = Guildhall::Pool.new(workers: 2, logger: QUIET)
      while go_on?
        payloads = batch(200)
        future = pool.dispatch(payloads, Work, parallel: true)
        child = fork do
          check(payloads, future.results(timeout: 60))
          check(payloads, pool.dispatch(payloads, Work, parallel: true).results(timeout: 60))
        end
        check(payloads, future.results(timeout: 60))
        Process.wait(child)
        raise "the child failed: #{$?}" unless $?.success?
      end
    RUBY
  end

  private

  def scenario(code)
    out = assert_ruby(<<~RUBY, SECONDS.to_s, timeout: SECONDS + 120)
      #{PREAMBLE}
      #{code}
      raise "nothing was checked" unless $checked.to_i > 100
      report = pool.shutdown(timeout: 20)
      raise "shutdown: \#{report.inspect}" unless report.complete
      puts "\#{$checked} outcomes"
    RUBY
    assert_match(/\A\d+ outcomes$/, out)
  end
end
