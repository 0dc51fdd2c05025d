# frozen_string_literal: true

require "test_helper"
require "guildhall/chart"

class ChartTest < GuildhallTest
  def test_bars
    svg = Guildhall::Chart::Bars.new([["a < b", 2.0], ["c", 0.5]], title: "x & y", mark: 1).to_svg
    assert_includes svg, "a &lt; b"
    assert_includes svg, "x &amp; y"
    assert_equal [1, 1], [svg.scan("#2c7fb8").size, svg.scan("#b0b7bd").size]
    assert_includes svg, "stroke-dasharray"
  end

  def test_lines
    svg = Guildhall::Chart::Lines.new([1, 10, 100], {"one" => [1, 2, nil], "two" => [3, 2, 1]}, title: "t", below: "steps").to_svg
    assert_equal [2, 5], [svg.scan("<polyline").size, svg.scan("<circle").size]
    refute_includes svg, "NaN"
  end

  def test_nothing_but_zeros
    refute_match(/NaN|Infinity/, Guildhall::Chart::Bars.new([["a", 0]], title: "t").to_svg)
  end

  def test_numbers
    assert_equal %w[0.12 2 12.3 1234], [0.123, 2.0, 12.34, 1234.4].map { |value| Guildhall::Chart.number(value) }
  end
end
