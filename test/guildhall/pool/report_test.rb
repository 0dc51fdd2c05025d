# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolReportTest < GuildhallTest
  Pool = Guildhall::Pool
  # What the native queue has measured: [code, bytes, payloads, cost, inline, parallel, workers now?].
  Queue = Struct.new(:handover, :decisions, :costs)
  NONE = Array.new(Pool::Decision::ALL.size, 0).freeze
  COSTS = [[2, 64, 0, 1e-6, nil, nil, nil], [1, 64, 512, nil, 4e-6, 1e-6, true], [1, 8, 16, nil, 1e-6, nil, false], [1, 8, 0, nil, nil, nil, nil],
           [9, 8, 0, 1e-6, nil, nil, nil]].freeze

  def report(costs: COSTS, decisions: NONE, names: {1 => "A", 2 => "B"})
    Pool::Report.new(Queue.new(2e-5, decisions, costs), names, 3)
  end

  def test_rows_are_of_known_codes_that_were_measured_in_order
    assert_equal [["A", 8, 16], ["A", 64, 512], ["B", 64, nil]], report.rows.map { |row| [row.task, row.bytes, row.payloads] }
  end

  def test_gain_is_known_where_both_ways_were_measured
    assert_equal [nil, 4.0, nil], report.rows.map { |row| row.gain&.round(6) }
  end

  def test_decisions_that_were_made
    counts = NONE.dup.tap { |numbers| numbers[1] = 7 }
    assert_equal({Pool::Decision::ALL[1] => 7}, report(decisions: counts).decisions)
  end

  def test_a_table_for_people
    text = report.to_s
    assert_includes text, "3 workers, 20 µs a hand-over"
    assert_match(/^A +64 +512 +4\.00 +1\.00 +4\.0  parallel$/, text)
    assert_match(/^A +8 +16 +1\.00 +– +–  inline$/, text)
    assert_match(/^B +64 +one +1\.00 +– +–  –$/, text)
  end

  def test_tasks_of_one_name_are_told_apart
    name = "#<Guildhall::Pipeline decode >> validate>"
    rows = report(names: {1 => name, 2 => name})
    assert_equal [name, name, "#{name} (2)"], rows.rows.map(&:task)
    assert_match(/^#{Regexp.escape(name)} \(2\) +64 +one /, rows.to_s)
  end

  # Two clocks' ticks apart, say.
  def test_a_gain_beyond_what_the_workers_can_is_noise
    text = report(costs: [[1, 64, 512, nil, 8e-6, 2e-6, true], [1, 8, 512, nil, 5e-6, 1e-6, true]]).to_s
    assert_match(/ 4\.0  parallel$/, text)
    assert_match(/ > 4  parallel$/, text)
  end
end
