# frozen_string_literal: true

require "test_helper"
require "guildhall/text_table"

class TextTableTest < GuildhallTest
  def test_each_column_is_as_wide_as_its_widest_cell
    assert_equal ["NAME    N", "orders  12", "o       -"], Guildhall::TextTable.lines([%w[NAME N], ["orders", 12], ["o", nil]])
  end

  def test_there_may_be_no_rows
    assert_empty Guildhall::TextTable.lines([])
  end

  def test_cells_cannot_change_the_terminal
    assert_equal ["a\\u{1B}[2J  1", "\uFFFD           2"], Guildhall::TextTable.lines([["a\e[2J", 1], ["\xFF".b, 2]])
  end

  # Names of topics often differ only at their ends.
  def test_as_wide_as_a_terminal
    rows = [%w[TOPIC PARTITIONS], ["orders.of.all.shops.guildhall.retry.30", 12]]
    lines = Guildhall::TextTable.lines(rows, width: 32)
    assert(lines.all? { |line| line.size <= 32 }, lines.inspect)
    assert_match(/\Aorders\.of\S*….*retry\.30 /, lines.last)
    assert_equal Guildhall::TextTable.lines(rows), Guildhall::TextTable.lines(rows, width: 200)
    assert_equal 24, Guildhall::TextTable.lines(rows, width: 5).first.size # a column keeps twelve characters
  end
end
