# frozen_string_literal: true

require "test_helper"
require "guildhall"
require "guildhall/advisor"
require "guildhall/advisor/page"

# Five tasks and what is to be said of them. How much is gained depends on the machine; whether does not, here.
class AdvisorTest < GuildhallTest
  ORDERS = Array.new(60) { |id| %({"id": #{id}, "items": [#{Array.new(200) { |n| %({"sku": "SKU-#{id}-#{n}", "price": #{n}.5}) }.join(", ")}]}).freeze }
  FEW = {batches: [10, 50], rounds: 3, workers: 2}.freeze

  module Orders
    EAGER = Guildhall::JSON >> Guildhall.map { |order| order["id"] }
  end

  module Waiting
    def self.call(_text) = sleep(0.0005)
  end

  module Mutating
    def self.call(text) = text << "!"
  end

  module Failing
    def self.call(text) = Integer(text)
  end

  module Nothing
    def self.call(text) = text
  end

  module Remembering
    def self.call(text) = (@seen ||= []) << text
  end

  # Counts what this process computes: other processes take none of it.
  module Computing
    def self.now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end

  def advise(task, payloads = ORDERS, **options) = Guildhall::Advisor.new(task, payloads, **FEW, **options).advise

  def test_eager_decoding_of_what_is_hardly_read
    advice = advise(Orders::EAGER, clock: Computing)
    assert_predicate advice, :pays?
    assert_equal :lazy, advice.best.variant
    assert_match(/\AIt pays: lazy decoding, .* × as fast as a loop \(\d.* in 9 rounds\)/, advice.verdict)
    assert_equal 59, advice.task.call(ORDERS.last)
  end

  def test_waiting
    advice = advise(Waiting)
    assert_equal [false, :io_bound], [advice.pays?, advice.reason]
    assert_match(/waits most of its time.*threads or fibers/, advice.verdict)
  end

  module Counting
    CALLS = Guildhall::Queue.new(10_000)
    def self.call(_text) = sleep(0.05) && CALLS.push(1)
  end

  # A payload that takes long is called as long as there is time, not hundreds of times.
  def test_a_slow_task_ends_soon
    assert_equal :io_bound, Guildhall::Advisor.new(Counting, Array.new(500, &:to_s)).advise.reason
    assert_operator Counting::CALLS.size, :<, 60
  end

  Seconds = Struct.new(:seconds)

  def test_slow_tasks_are_measured_in_smaller_batches_only
    advisor = Guildhall::Advisor.new(Nothing, ["a"])
    sizes = [1e-6, 0.02, 5.0].map { |seconds| advisor.send(:affordable, Seconds.new(seconds)) }
    assert_equal [Guildhall::Advisor::BATCHES, [1, 5, 10, 25], [1, 5]], sizes
  end

  def test_says_when_others_used_the_cpu
    advice = advise(Nothing)
    crowded = advice.cost.dup.tap { |cost| cost.instance_variable_set(:@cpu_seconds, 0.0) }
    again = Guildhall::Advisor::Advice.new(variants: advice.variants, payloads: advice.payloads, cost: crowded)
    assert_match(/Other processes used the CPU meanwhile/, again.verdict)
  end

  def test_mutating
    advice = advise(Mutating)
    assert_equal :mutates, advice.reason
    assert_match(/changes its payload.*advisor_test\.rb:\d+.*payload\.dup/, advice.verdict)
  end

  def test_failing
    advice = advise(Failing)
    assert_equal :fails, advice.reason
    assert_match(/raises for these payloads: ArgumentError/, advice.verdict)
  end

  # Raises what is no StandardError, which must not end this process: exit status 0 means that it pays.
  module Leaving
    def self.call(text) = text == "exit" ? exit : raise(NotImplementedError)
  end

  def test_a_task_that_ends_the_process
    %w[exit other].zip(%w[SystemExit NotImplementedError]) do |payload, error|
      advice = advise(Leaving, [payload])
      assert_equal :fails, advice.reason
      assert_match(/raises for these payloads: #{error}/, advice.verdict)
      refute_match(/cost per payload/, advice.to_s)
    end
  end

  module WithMetadata
    def self.call(text, metadata) = [text, metadata&.key]
  end

  def test_a_task_that_takes_metadata
    assert_equal [:too_small, true], [advise(WithMetadata).reason, advise(WithMetadata).cells.any?]
  end

  module Picky
    def self.call(text) = text == "bad" ? raise("not this one") : text
  end

  # Also those that are far behind in a big sample.
  def test_some_payloads_fail
    advice = advise(Picky, [*["good"] * 1995, *["bad"] * 5])
    assert_equal [:too_small, 1995], [advice.reason, advice.payloads.size]
    assert_match(/left out +5, for which the task raises \(RuntimeError: not this one\)/, advice.to_s)
    assert_equal 5, advice.to_h["payloads_left_out"]
    assert_equal :fails, advise(Picky, ["good", *["bad"] * 5]).reason
  end

  # What pays in most rounds, and not in all, is measured again; it is no promise.
  def test_a_gain_that_some_rounds_do_not_have_is_uncertain
    confirmed = lambda do |*lowest|
      cell = ->(gains) { Guildhall::Advisor::Cell.new(variant: :given, workers: 2, batch: 10, gains:) }
      advisor = Guildhall::Advisor.new(Nothing, ["a"])
      advisor.define_singleton_method(:cell) { |*| cell.call([lowest.shift, 2.1, 2.2, 2.3, 6.2]) }
      advisor.send(:confirmed, {}, [cell.call([2.0])], nil)
    end
    assert_equal 1.5, confirmed.call(0.6, 1.5)[1].gains.first
    _, best, uncertain = confirmed.call(0.6, 0.7, 0.8)
    assert_nil best
    payloads = Guildhall::Advisor::Payloads.new(["x"] * 100)
    cost = Guildhall::Advisor::Cost.new(Nothing, payloads).measure
    advice = Guildhall::Advisor::Advice.new(variants: {given: Nothing}, payloads:, cost:, uncertain:)
    assert_equal [false, :uncertain, Nothing], [advice.pays?, advice.reason, advice.task]
    assert_match(/\AUncertain: measure again.* On 2 workers, in batches of 10, was 2\.2 × .* but 0\.8 to 6\.2 in 5 rounds/, advice.verdict)
  end

  # Whose payloads take more than the second that all are tried in.
  module Slow
    def self.call(text)
      raise("not this one") if text == "bad"

      ended = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.4
      nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ended
    end
  end

  def test_payloads_add_up
    sieve = Guildhall::Advisor::Sieve.new(Slow, Guildhall::Advisor::Payloads.new([*["good"] * 20, "bad"]))
    sound = sieve.sound
    assert_predicate sieve.untried, :positive?
    assert_equal 21, sound.size + sieve.count + sieve.untried
    cost = Guildhall::Advisor::Cost.new(Nothing, sound).measure
    advice = Guildhall::Advisor::Advice.new(variants: {given: Slow}, payloads: sound, cost:, sieve:)
    assert_match(/not tried +#{sieve.untried}: /, advice.to_s)
    assert_equal 21, advice.to_h.values_at("payloads", "payloads_left_out", "payloads_not_tried").sum
  end

  def test_nothing_to_do
    advice = advise(Nothing)
    assert_equal [:too_small, Nothing], [advice.reason, advice.task]
    assert_match(/do not pay.*hand-over/, advice.verdict)
    assert_nil advice.from
  end

  def test_what_a_worker_may_not_is_refused
    assert_raises(Guildhall::IsolationError) { advise(Remembering) }
    assert_raises(Guildhall::ArgumentError) { advise(Nothing, []) }
    assert_raises(Guildhall::ArgumentError) { advise(7) }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Advisor.new(Nothing, ["a"], workers: 100_000) }
  end

  def test_steps_of_workers
    assert_equal({1 => [1], 2 => [1, 2], 6 => [1, 2, 4, 6], 8 => [1, 2, 4, 8]}, [1, 2, 6, 8].to_h { |most| [most, Guildhall::Advisor.steps(most)] })
  end

  def test_the_first_batch_that_pays
    cells = {1 => 0.5, 10 => 1.3, 50 => 1.0, 100 => 1.5, 500 => 1.8}.map do |batch, gain|
      Guildhall::Advisor::Cell.new(variant: :given, workers: 2, batch:, gains: [gain] * 3)
    end
    assert_equal 100, Guildhall::Advisor::Choice.first(cells).batch
    assert_equal 500, Guildhall::Advisor::Choice.of(cells).batch
    assert_nil Guildhall::Advisor::Choice.of(cells.first(1))
  end

  def test_sizes
    payloads = Guildhall::Advisor::Payloads.new([*["a" * 100] * 5, *["a" * 5000] * 5, *["a" * 20_000] * 5])
    assert_equal [100, 5000, 20_000], payloads.quantiles.values_at("smallest", "median", "largest")
    assert_equal [100, 5000, 20_000], payloads.classes(3).map(&:median)
    assert_equal 15, payloads.histogram.sum(&:last)
    assert_equal [[7, 7, 7], [21]], [payloads.batches(7, 20).map(&:size), [payloads.batches(7, 20).flatten.size]]
  end

  # Nothing is loaded from elsewhere, and what the user wrote is escaped.
  def test_the_page_stands_alone
    html = Guildhall::Advisor::Page.new(advise(Orders::EAGER), name: "<Orders>").to_html
    assert_operator html.scan("<svg").size, :>=, 2
    assert_includes html, "&lt;Orders&gt;"
    refute_match(/<script|<link|src=|href=/, html)
    refute_match(%r{https?://(?!www\.w3\.org/2000/svg)}, html)
  end

  def test_few_payloads_are_said_to_be_too_few
    payloads = Guildhall::Advisor::Payloads
    cost = Guildhall::Advisor::Cost.new(Nothing, payloads.new(["x"])).measure
    few, enough = [99, 100].map { |count| Guildhall::Advisor::Advice.new(variants: {given: Nothing}, payloads: payloads.new(["x"] * count), cost:) }
    assert_equal [[99, true], [100, false]], [few, enough].map { |advice| advice.to_h.values_at("payloads", "too_few_payloads") }
    assert_includes few.to_s, "99 (too few to rely on: measure some hundred real ones)"
    refute_includes enough.to_s, "too few"
  end

  def test_as_a_hash
    hash = advise(Nothing).to_h
    assert_equal [false, "too_small"], hash.values_at("pays", "reason")
    assert_operator hash["cells"].size, :>=, 2
  end
end
