# frozen_string_literal: true

require "test_helper"
require "guildhall/pool/backlog_comparison"

class PoolBacklogComparisonTest < GuildhallTest
  Comparison = Guildhall::Pool::BacklogComparison
  BATCH = 1 << 20
  SIZE = 200 # payloads of a batch
  READ = 1 << 16
  STOCK = 12 # batches that wait to be read, decoded the way that they came

  # Consumers that read as fast as they can, each way at its own rate.
  class Backlog
    attr_reader :now, :spent
    attr_writer :noise # called with the time: by how much a rate is faster then

    def initialize(comparison = Comparison.new)
      @comparison = comparison
      @now = 100.0
      @noise = ->(_) { 1 }
      @stock = Array.new(STOCK) { way }
    end

    def way = @comparison.meter(BATCH, SIZE, @now).workers

    # @param rates [Hash{Boolean=>Numeric}] batches a second, with workers and without
    # @return [Float] which share of the time was spent with workers
    def run(rates, seconds)
      @spent = {true => 0.0, false => 0.0}
      limit = @now + seconds
      read(@stock.shift, rates) && @stock.push(way) while @now < limit
      @spent[true] / @spent.values.sum
    end

    # @return [Float] which share of what the better way reads was read
    def efficiency(rates, seconds)
      run(rates, seconds)
      rates.sum { |workers, rate| @spent[workers] * rate } / (rates.values.max * @spent.values.sum)
    end

    def pause(seconds) = @now += seconds

    private

    def read(workers, rates)
      began = @now
      (BATCH / READ).times { @comparison.read(workers, READ, @now += READ.fdiv(BATCH) / (rates.fetch(workers) * @noise.call(@now))) }
      @spent[workers] += @now - began
    end
  end

  # One whose consumer fetches a batch, reads it in some hundreds of milliseconds, and works.
  class Single < Backlog
    BATCHES = 50

    def initialize(comparison, work)
      super(comparison)
      @work = work
    end

    def run(rates, seconds)
      @spent = {true => 0.0, false => 0.0}
      limit = @now + seconds
      while @now < limit
        workers = way
        BATCHES.times { read(workers, rates) }
        pause(@work)
      end
      @spent[true] / @spent.values.sum
    end
  end

  def test_it_begins_without_workers_and_settles_within_two_seconds
    backlog = Backlog.new
    assert_in_delta 0, backlog.run({true => 200, false => 100}, 0.3), 0.01
    backlog.run({true => 200, false => 100}, 1.7)
    assert_operator backlog.run({true => 200, false => 100}, 20), :>, 0.95
  end

  def test_where_workers_are_likely_to_pay_it_begins_with_them_and_a_short_backlog_tries_nothing
    backlog = Backlog.new(Comparison.new(workers: true))
    assert_in_delta 1, backlog.run({true => 100, false => 90}, 4.8), 0.001
    assert_operator backlog.efficiency({true => 100, false => 90}, 60), :>, 0.975
  end

  def test_workers_that_were_likely_to_pay_and_do_not_are_left
    backlog = Backlog.new(Comparison.new(workers: true))
    backlog.run({true => 80, false => 100}, 8)
    assert_operator backlog.efficiency({true => 80, false => 100}, 60), :>, 0.975
    equal = Backlog.new(Comparison.new(workers: true)).tap { |one| one.run({true => 100, false => 100}, 30) }
    assert_operator equal.run({true => 100, false => 100}, 60), :<, 0.5, "half of the time is spent with trials of what is equal"
  end

  def test_pauses_are_of_the_clocks_time_where_topics_are_read_in_bursts
    backlog = Backlog.new
    30.times { backlog.run({true => 33, false => 100}, 2) && backlog.pause(58) }
    backlog.run({true => 900, false => 100}, 2)
    backlog.pause(58)
    assert_operator backlog.run({true => 900, false => 100}, 2), :>, 0.2
  end

  def test_finding_out_costs_little_also_where_a_backlog_is_short
    [0.5, 0.67, 0.9, 1.1, 1.3, 1.6, 2].each do |workers|
      assert_operator Backlog.new.efficiency({true => 100 * workers, false => 100}, 10), :>, 0.955, "workers #{workers} times as fast"
      backlog = Backlog.new.tap { |one| one.run({true => 100 * workers, false => 100}, 10) }
      assert_operator backlog.efficiency({true => 100 * workers, false => 100}, 60), :>, 0.975, "workers #{workers} times as fast"
    end
  end

  # Rates of a fifth of a second vary by a third where a broker, garbage collection and consumers share two cores.
  def test_the_better_way_is_found_although_rates_vary
    [0.8, 0.93, 1.1, 1.25].each do |workers|
      shares = Array.new(20) do |seed|
        random = Random.new(seed)
        noise = Hash.new { |known, slot| known[slot] = Math.exp(random.rand(-0.5..0.5)) }
        backlog = Backlog.new
        backlog.noise = ->(now) { noise[(now / 0.05).floor] }
        backlog.efficiency({true => 100 * workers, false => 100}, 30)
      end
      assert_operator shares.sum / shares.size, :>, 0.97, "workers #{workers} times as fast"
    end
  end

  # Each change of way lets a core wait until what the way before has left is read.
  def test_a_long_trial_changes_ways_every_other_epoch
    backlog = Backlog.new
    ways = Array.new(1_000) { backlog.run({true => 104, false => 100}, 0.01) && backlog.way }
    assert_includes 3..9, ways.each_cons(2).count { |before, after| before != after }
  end

  def test_workers_that_are_no_faster_are_left_to_others
    assert_operator Backlog.new.run({true => 102, false => 100}, 60), :<, 0.3
  end

  def test_what_has_changed_is_found_out_within_seconds
    [[{true => 50, false => 100}, {true => 90, false => 45}], [{true => 200, false => 100}, {true => 60, false => 100}]].each do |before, after|
      backlog = Backlog.new.tap { |one| one.run(before, 30) }
      backlog.run(after, 3)
      assert_operator backlog.efficiency(after, 20), :>, 0.95
    end
  end

  def test_small_batches_are_left_to_the_pool_and_without_a_backlog_nothing_is_tried
    comparison = Comparison.new
    assert_nil comparison.meter(100, 1)
    100.times { |index| comparison.read(false, BATCH, index.to_f) }
    refute comparison.meter(BATCH, SIZE).workers
  end

  def test_without_a_backlog_the_better_way_is_used_also_in_a_trial
    backlog = Backlog.new
    backlog.run({true => 1_000, false => 10}, 0.01) until backlog.way
    backlog.pause(1.1)
    refute backlog.way
    assert_operator backlog.run({true => 1_000, false => 10}, 20), :>, 0.5, "it goes on"
  end

  # No batch waits to be read: the next one is fetched after it.
  def test_a_consumer_with_work_of_its_own_between_batches
    [[true, 50, 100], [false, 100, 50]].each do |workers, with, without|
      [0.3, 0.8].each do |work|
        backlog = Single.new(Comparison.new(workers:), work)
        backlog.run({true => with, false => without}, 60)
        assert_operator backlog.run({true => with, false => without}, 120), (with > without ? :> : :<), 0.5, "#{work} s between batches"
      end
    end
  end

  # One every six seconds, for ten minutes.
  def test_short_backlogs_decide_together
    [{true => 167, false => 100}, {true => 60, false => 100}].product([0.3, 0.5, 0.7, 0.9, 1.2], [true, false]) do |rates, seconds, workers|
      backlog = Backlog.new(Comparison.new(workers:))
      shares = Array.new(100) { backlog.efficiency(rates, seconds).tap { backlog.pause(6 - seconds) } }
      assert_operator shares.last(70).sum / 70, :>, 0.9, "backlogs of #{seconds} s, #{rates}, beginning with workers: #{workers}"
    end
  end

  def test_where_workers_are_likely_to_pay_idle_time_begins_no_trial
    backlog = Backlog.new(Comparison.new(workers: true))
    4.times do
      assert_in_delta 1, backlog.run({true => 100, false => 90}, 1), 0.001
      backlog.pause(6)
    end
  end

  def test_one_accident_does_not_decide
    slow = 12.0
    10.times do |index|
      backlog = Backlog.new(Comparison.new(workers: true))
      backlog.noise = ->(now) { (now - 100 - slow - (index / 10.0)).between?(0, 0.25) ? 0.33 : 1 }
      assert_operator backlog.efficiency({true => 120, false => 100}, 66), :>, 0.95, "an accident after #{slow + (index / 10.0)} s"
    end
  end

  def test_a_trial_that_cannot_be_measured_is_given_up
    comparison = Comparison.new
    backlog = Backlog.new(comparison)
    backlog.run({true => 100, false => 100}, 0.01) until backlog.way
    600.times { |index| comparison.read(index.odd?, READ, backlog.now + (index / 100.0)) }
    refute backlog.way, "a consumer still reads what was decoded before"
  end

  # Notes what it is reported.
  class Noting < Comparison
    attr_reader :noted

    def read(*arguments) = (@noted ||= []) << arguments
  end

  def test_what_is_read_is_noted_now_and_then
    noting = Noting.new
    meter = noting.meter(BATCH, 1_000)
    1_000.times { meter.count }
    assert_operator noting.noted.size, :<, 20
    assert_in_delta BATCH, noting.noted.sum { |_, bytes| bytes }, READ
    big = noting.meter(BATCH, 2)
    assert_equal [false, BATCH / 2], 2.times.map { big.count.then { noting.noted.last } }.uniq.first
  end
end
