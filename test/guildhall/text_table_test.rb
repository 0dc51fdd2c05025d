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
end
