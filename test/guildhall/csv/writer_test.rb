# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"

class CSVWriterTest < GuildhallTest
  def write(rows, **format) = Guildhall::CSV.const_get(:Writer).write(rows, format)

  def test_quotes_where_it_has_to
    assert_equal %(a,"b,c","d""e","f\ng",\n), write([["a", "b,c", "d\"e", "f\ng", nil]])
  end

  def test_separators_of_ones_own
    assert_equal "a;b\r\n", write([%w[a b]], col_sep: ";", row_sep: "\r\n")
    assert_equal %("a|"~"b"|), write([%w[a| b]], col_sep: "~", row_sep: "|")
    assert_equal %("a""b"~~""|), write([["a\"b", nil, ""]], col_sep: "~", row_sep: "|")
    assert_equal [["a\"b", nil, ""]], Guildhall::CSV.new(headers: false, col_sep: "~", row_sep: "|").then { |codec| codec.decode(codec.encode([["a\"b", nil, ""]])) }
  end

  # The gem reads `,|` as the text "|" from the first quoted separator or line break on.
  def test_a_nil_before_a_row_sep_of_ones_own
    assert_equal %("a",|"b",|), write([["a", nil], ["b", nil]], row_sep: "|")
    [["a,", nil], ["a|", nil], ["a\n", nil], ["a\"", nil]].each do |row|
      error = assert_raises(Guildhall::EncodeError) { write([row, ["b", nil]], row_sep: "|") }
      assert_includes error.message, "row_sep"
      codec = Guildhall::CSV.new(headers: false, row_sep: "|")
      assert_equal [[nil, row[0], ""]], codec.decode(codec.encode([[nil, row[0], ""]]))
    end
    assert_raises(Guildhall::EncodeError) { write([["a", nil]], row_sep: "|", strip: true) }
  end

  def test_without_quotes
    assert_equal "a\tb\"\n\t\n", write([%w[a b"], [nil, nil]], col_sep: "\t", quote_char: nil)
    ["b\tc", "b\nc", "b\rc"].each do |field|
      error = assert_raises(Guildhall::EncodeError) { write([[field]], col_sep: "\t", quote_char: nil) }
      assert_includes error.message, "quote_char is nil"
    end
    assert_raises(Guildhall::EncodeError) { write([["\xff"]], quote_char: nil) }
  end
end
