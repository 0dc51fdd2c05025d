# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"
require "guildhall/json"

class CSVTableTest < GuildhallTest
  def of(rows) = Guildhall::CSV.const_get(:Table).of(rows, 100)

  def test_rows_as_they_are
    assert_equal [[1], [2, 3]], of([[1], [2, 3]])
    assert_empty of([])
  end

  def test_hashes_get_a_header_with_the_keys_of_all_of_them
    assert_equal [%w[a b c], [1, 2, nil], [nil, 3, 4]], of([{"a" => 1, "b" => 2}, {"c" => 4, "b" => 3}])
  end

  def test_documents_are_what_they_represent
    assert_equal [["a"], [1]], of([Guildhall::JSON.document('{"a":1}')])
  end

  def test_what_is_no_table
    {5 => "rows are an Enumerable of Hashes or Arrays, not Integer", [[1], {}] => "all of one kind, not Array, Hash", ["a"] => "not String"}.each do |rows, message|
      assert_includes assert_raises(Guildhall::EncodeError) { of(rows) }.message, message
    end
  end
end
