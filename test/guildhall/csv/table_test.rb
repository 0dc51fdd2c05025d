# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"
require "guildhall/json"

class CSVTableTest < GuildhallTest
  def of(rows, headers = nil) = Guildhall::CSV.const_get(:Table).of(rows, headers || false, 100).rows

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
      assert_includes assert_raises(Guildhall::EncodeError) { of(rows, true) }.message, message
    end
  end

  # Of several columns with one name the codec reads the first, and of the fields beyond the header one.
  def test_what_would_be_lost_is_refused
    assert_equal [%w[a b], [1, 2, 3], [nil]], of([%w[a b], [1, 2, 3], [nil]], true)
    assert_equal [%w[a a], [1, 2, 3]], of([%w[a a], [1, 2, 3]], false), "no header, nothing to be lost"
    {[%w[a b a], [1, 2, 3]] => "two columns of the header have one name", [["a", :a]] => "one name", [["a", nil, nil]] => "one name",
     [%w[a b], [1, 2], [1, 2, 3, 4]] => "$[1] has 4 fields, and the header names 2 columns", [["a", nil], [1, 2, 3]] => "$[0] has 3 fields"}.each do |rows, message|
      assert_includes assert_raises(Guildhall::EncodeError) { of(rows, true) }.message, message
    end
  end

  # A codec that knows its columns would read a header row as data.
  def test_names_are_the_same_in_every_encoding
    latin = "é".encode("ISO-8859-1")
    codec = Guildhall::CSV.new(headers: ["é"])
    [[[{"é" => 1, latin => 2}], Guildhall::CSV], [[{"é" => 1}, {latin => 2}], Guildhall::CSV], [[["é", latin], [1, 2]], Guildhall::CSV],
     [[{"é" => 1, latin => 2}], codec]].each do |rows, written_by|
      assert_raises(Guildhall::EncodeError, rows.inspect) { written_by.encode(rows) }
    end
    assert_equal [{"é" => "1"}], codec.decode(codec.encode([{latin => 1}]))
    assert_equal [{"é" => "1"}], Guildhall::CSV.decode(Guildhall::CSV.encode([{latin => 1}]))
  end

  def test_with_names_given_no_header_is_written
    assert_equal [[1, nil], [nil, 2]], of([{"a" => 1}, {b: 2}], %w[a b])
    assert_equal [[1, nil, 3], [nil, nil]], of([{"a" => 1, nil => 3}, {}], %w[a b]), "the key nil is the field beyond the header"
    assert_equal [[nil, 1, nil]], of([{"b" => 1}], %w[a b a]), "the first of the columns with one name"
    {[{"a" => 1}, {"c" => 1}] => "$[1] has a key that is no column in the codec's headers", [{"a" => 1, a: 2}] => "$[0] has two keys for one column"}.each do |rows, message|
      assert_includes assert_raises(Guildhall::EncodeError) { of(rows, %w[a b]) }.message, message
    end
  end
end
