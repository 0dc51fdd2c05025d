# frozen_string_literal: true

require "test_helper"
require "support/c_program"

# Two ways to do the same work, tried in turn.
class PoolCostModelTest < GuildhallTest
  include CProgram

  # The C, spoken to over a pipe.
  class Comparison
    def initialize(pipe)
      @pipe = pipe
      @way = @trying = false
    end

    def second? = @way
    def trying? = @trying
    def add(cost, time) = say("add #{cost} #{time}")
    def break(pause) = say("break #{pause}")

    private

    def say(line)
      @pipe.puts(line)
      @way, @trying = @pipe.gets.split.map { |bit| bit == "1" }
    end
  end

  def setup
    super
    @folder = Dir.mktmpdir("guildhall")
    @program = File.join(@folder, "program")
    @pipes = []
    compile(@program, [File.expand_path("../../support/comparison_probe.c", __dir__), File.join(EXTENSION, "pool/cost_model.c"), "-lm"], ["-I#{EXTENSION}"])
  end

  def teardown
    @pipes.each(&:close)
    FileUtils.rm_rf(@folder)
    super
  end

  # @param costs [Array(Float, Float)] seconds for a unit of work, each way
  # @yieldparam epoch [Integer]
  # @yieldreturn [Float] by how much that epoch is dearer
  # @return [Array<Boolean>] which way each epoch was done: whether the second
  def ways(costs, epochs, comparison = new_comparison)
    Array.new(epochs) do |epoch|
      second = comparison.second?
      comparison.add(costs[second ? 1 : 0] * (block_given? ? yield(epoch) : 1), 0.01)
      second
    end
  end

  def new_comparison
    @pipes << IO.popen([@program], "r+")
    Comparison.new(@pipes.last)
  end

  def test_the_faster_way_is_used_after_some_pairs
    assert_operator ways([2.0, 1.0], 200).last(194).count(true), :>, 180
    assert_operator ways([1.0, 2.0], 200).last(194).count(false), :>, 180
  end

  def test_pairs_begin_with_the_way_that_the_one_before_has_ended_with
    assert_equal [false, true, true, false, false, true], ways([1.0, 2.0], 6)
  end

  def test_one_accident_does_not_decide
    assert_operator ways([1.5, 1.0], 60) { |epoch| epoch == 1 ? 20 : 1 }.last(50).count(true), :>, 40
  end

  def test_a_gain_that_is_no_gain_is_left
    assert_operator ways([1.05, 1.0], 400).count(true), :<, 40
  end

  def test_trials_cost_little_in_the_long_run
    assert_operator ways([1.0, 1.3], 20_000).count(true), :<, 330 # each takes a third longer: that is half a per cent
    assert_operator ways([1.3, 1.0], 20_000).count(false), :<, 330
  end

  def test_early_on_it_is_soon_tried_again
    comparison = new_comparison
    ways([1.0, 1.3], 10, comparison) { |epoch| epoch.odd? ? 0.2 : 3 } # the second way looks better at first
    assert_operator ways([1.0, 1.3], 60, comparison).last(30).count(false), :>, 25
  end

  def test_what_has_become_slower_is_left_before_its_time
    comparison = new_comparison
    ways([10.0, 1.0], 3_000, comparison)
    assert_operator ways([10.0, 30.0], 200, comparison).last(100).count(false), :>, 90
  end

  def test_a_trial_can_be_broken_off
    comparison = new_comparison
    comparison.add(1, 0.01)
    assert_predicate comparison, :trying?
    assert_predicate comparison, :second?
    comparison.break(1)
    refute_predicate comparison, :second?
    assert_equal [false] * 95, ways([1.0, 0.5], 95, comparison)
    assert_includes ways([1.0, 0.5], 10, comparison), true
  end

  def test_what_changed_before_a_trial_was_broken_off_begins_no_other
    comparison = new_comparison
    ways([1.0, 5.0], 3_000, comparison)
    trials = 3_000.times.count do # 30 s
      comparison.second? ? comparison.break(60) : comparison.add(2.0, 0.01)
      comparison.second?
    end
    assert_operator trials, :<, 5
  end
end
