# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"

class CSVWriterTest < GuildhallTest
  def write(rows, **format) = Guildhall::CSV.new(headers: false, **format).encode(rows)

  def read_again(rows, **format)
    codec = Guildhall::CSV.new(headers: false, **format)
    codec.decode(codec.encode(rows))
  end

  def refused(rows, **format) = assert_raises(Guildhall::EncodeError, rows.inspect) { write(rows, **format) }.message

  def test_quotes_where_it_has_to
    assert_equal %(a,"b,c","d""e","f\ng",\n), write([["a", "b,c", "d\"e", "f\ng", nil]])
  end

  def test_separators_of_ones_own
    assert_equal "a;b\r\n", write([%w[a b]], col_sep: ";", row_sep: "\r\n")
    assert_equal %("a|"~b|), write([%w[a| b]], col_sep: "~", row_sep: "|")
    assert_equal %("a""b"~~""|), write([["a\"b", nil, ""]], col_sep: "~", row_sep: "|")
    rows = [["a\"b", nil, ""], ["a|", nil], ["a\n", nil], [nil, "a,", "b"], ["a"]]
    [{}, {strip: true}, {liberal_parsing: true}, {strip: true, liberal_parsing: true}].each do |format|
      ["|", "||", ";\n"].each { |row_sep| assert_equal rows, read_again(rows, row_sep:, **format) }
    end
  end

  def test_strip
    rows = [["1", " 2 ", "\t", "\v3", "4\f"]]
    assert_equal rows, read_again(rows, strip: true)
    assert_equal "1,\" 2 \",\"\t\",\"\v3\",\"4\f\"\n", write(rows, strip: true)
    assert_includes refused([["1", " 2"]], strip: true, quote_char: nil), "$[0][1] would have to be quoted"
  end

  def test_blank_lines
    assert_includes refused([["1"], [nil]], skip_blanks: true), "$[1][0] would be an empty line, which skip_blanks leaves out: write \"\" for nil"
    assert_includes refused([[]], skip_blanks: true), "empty line"
    assert_equal [[""]], read_again([[""]], skip_blanks: true)
    error = assert_raises(Guildhall::EncodeError) { Guildhall::CSV.new(skip_blanks: true).encode([{"x" => nil}, {"x" => "1"}]) }
    assert_includes error.message, "$[0].x"
    assert_includes assert_raises(Guildhall::EncodeError) { Guildhall::CSV.encode([{nil => 1}]) }.message, "a column without a name"
  end

  def test_line_breaks_in_the_first_row
    ["a\rb", "a\r\nb", "a\nb"].each do |field|
      rows = [[nil, field], %w[2 b]]
      assert_equal rows, read_again(rows)
      assert_equal rows, read_again(rows, row_sep: "\r\n")
      assert_equal [{field => "1"}], Guildhall::CSV.decode(Guildhall::CSV.encode([{field => 1}]))
    end
  end

  def test_a_byte_order_mark_that_is_none
    rows = [["\uFEFFa", "\uFEFF"]]
    assert_equal rows, read_again(rows)
    assert_equal rows, read_again(rows, text: Guildhall::Text.new(encoding: "UTF-16LE"))
    assert_equal rows, read_again(rows, quote_char: "'")
    assert_includes refused(rows, quote_char: nil), "$[0][0] would have to be quoted"
  end

  def test_encodings_are_mixed
    assert_equal [%w[é é a é]], read_again([["é".encode("ISO-8859-1"), "é", "a".b, "é".encode("UTF-16BE")]])
    assert_includes refused([["a", "é".b]]), "$[0][1]"
    assert_includes refused([["\xff"]]), "$[0][0] is not valid UTF-8"
  end

  def test_separators_that_overlap
    rows = [[nil, nil, nil], %w[a b ab], [nil, "ba"]]
    assert_equal rows, read_again(rows, col_sep: "ba", row_sep: "ab")
    assert_equal rows, read_again(rows, col_sep: "aa", row_sep: "ab")
  end

  def test_typed_columns_take_what_they_read
    codec = Guildhall::CSV.new(converters: {"i" => :integer, "f" => :float, "n" => :decimal, "b" => :boolean, "d" => :date, "t" => :time})
    row = {"i" => 1, "f" => 1.5, "n" => BigDecimal("2.5"), "b" => true, "d" => Date.new(2026, 3, 1), "t" => Time.at(1, 5, :nsec, in: "+02:00")}
    assert_equal [row, row.transform_values { nil }], codec.decode(codec.encode([row, {}]))
    assert_equal [row], codec.decode(codec.encode([row.transform_values(&:to_s).merge("t" => "1970-01-01T02:00:01.000000005+02:00")])), "as texts"
    {"i" => 1.5, "f" => "x", "n" => 1r, "b" => 2, "d" => Time.at(0), "t" => Date.new(2026)}.each do |column, value|
      error = assert_raises(Guildhall::EncodeError, column) { codec.encode([{}, {column => value}]) }
      assert_match(/\A\S+ \$\[1\]\.#{column}: the column's converter, :\w+, would not read it again: write .+, or nil\z/, error.message)
    end
  end

  def test_max_bytes
    assert_equal "abc\n", write([["abc"]], max_bytes: 4)
    assert_includes refused([["abcd"]], max_bytes: 4), "5 bytes are more than max_bytes, 4"
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
