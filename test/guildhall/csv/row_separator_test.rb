# frozen_string_literal: true

require "test_helper"
require "guildhall/csv"

class CSVRowSeparatorTest < GuildhallTest
  def resolve(text, **format) = Guildhall::CSV.const_get(:RowSeparator).new(format).resolve(text)

  def test_line_breaks_within_quotes_do_not_count
    {"a\r\nb" => :auto, "\"a\nb\"\r\nc" => "\r\n", "\"a\r\nb\"\nc" => "\n", "\"a\"\"\nb\",c\rd" => "\r", "x,\"a\nb\"" => "\n", "5\" pipe\r\"\n\"" => "\r",
     "\"a\nb" => "\n", "x \"\n\"\r" => "\n"}.each { |text, row_sep| assert_equal row_sep, resolve(text).last, text }
    assert_equal "\r", resolve("a, \"\n\"\r", strip: true).last
    assert_equal "\n", resolve("a, \"\n\"\r").last
    assert_equal :auto, resolve("\"\n\"\r", quote_char: nil).last
  end

  def test_separators_outside_of_quotes_become_line_breaks
    assert_equal ["a\n\"b|c\",d\n", "\n"], resolve("a|\"b|c\",d|", row_sep: "|")
    assert_equal ["é\n\"é|\n\"\n", "\n"], resolve("é||\"é|\n\"||", row_sep: "||")
    assert_equal ["a|b", "\r\n"], resolve("a|b", row_sep: "\r\n")
    error = assert_raises(::CSV::MalformedCSVError) { resolve("a|b\nc|", row_sep: "|") }
    assert_equal 2, error.line_number
  end

  def test_the_gem_reads_all_rows
    [{}, {strip: true}, {liberal_parsing: true}].each do |format|
      codec = Guildhall::CSV.new(headers: false, row_sep: "|", **format)
      assert_equal [["a"], ["b,c", "x"], ["d"], ["e", nil]], codec.decode("a|\"b,c\",x|d|e,|"), format.to_s
      error = assert_raises(Guildhall::DecodeError) { codec.decode("a|b\nc|") }
      assert_equal 2, error.line
    end
    assert_equal [["5\" pipe"], ["x"]], Guildhall::CSV.new(headers: false, row_sep: "|", liberal_parsing: true).decode("5\" pipe|x|")
    assert_equal [{"a\nb" => "1"}], Guildhall::CSV.decode("\"a\nb\"\r\n1\r\n"), "a line break in a heading, as spreadsheets write it"
  end
end
