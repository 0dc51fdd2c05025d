# frozen_string_literal: true

require "test_helper"
require "guildhall/json"
require "stringio"

# NDJSON that goes on behind a bad line.
class JSONLinesTest < GuildhallTest
  TEXT = "{\"a\":1}\n{\"a\":\n\n \r\n[2]\nnull null\n\"é\"\n{\"a\":3}"
  GOOD = [{"a" => 1}, [2], "é", {"a" => 3}].freeze

  def read(source, codec: Guildhall::JSON, **) = codec.each_document(source, **).map { |value| value.is_a?(Guildhall::JSON::Document) ? value.decode : value }

  def test_skips_bad_lines
    assert_equal GOOD, read(TEXT, on_error: :skip)
    (1..12).each { |chunk| assert_equal GOOD, read(StringIO.new(TEXT), chunk:, on_error: :skip), chunk.to_s }
  end

  def test_says_where_they_are
    errors = []
    assert_equal GOOD, read(StringIO.new(TEXT), chunk: 5, on_error: ->(error) { errors << error })
    assert_equal([2, 6], errors.map(&:line))
    assert_equal("}", TEXT.byteslice(0, errors.first.offset).lines.first.chomp[-1])
    assert_equal(TEXT.b.index("null null") + 5, errors.last.offset)
  end

  def test_a_line_that_is_too_long_is_not_held
    codec = Guildhall::JSON.new(max_bytes: 100)
    long = "[#{"1," * 100_000}1]"
    source = StringIO.new("[1]\n#{long}\n[2]\n#{long}")
    errors = []
    assert_equal [[1], [2]], read(source, codec:, chunk: 64, on_error: ->(error) { errors << error })
    assert_equal([2, 4], errors.map(&:line))
    errors.each { |error| assert_match(/max_bytes/, error.message) }
  end

  def test_what_a_block_raises_is_not_taken_for_a_bad_line
    assert_raises(Guildhall::JSON::ParseError) do
      Guildhall::JSON.each_document("[1]\n[2]", on_error: :skip) { Guildhall::JSON.decode("{") }
    end
  end

  def test_other_answers_are_refused
    assert_raises(Guildhall::ArgumentError) { Guildhall::JSON.each_document("[1]", on_error: :ignore) { nil } }
  end

  def test_without_it_the_first_bad_text_is_the_end_and_says_its_line
    error = assert_raises(Guildhall::JSON::ParseError) { read("[1]\n[2]\n\n[3,}\n[4]") }
    assert_equal [4, 4], [error.line, error.column]
    (1..9).each do |chunk|
      assert_equal 4, assert_raises(Guildhall::JSON::ParseError) { read(StringIO.new("[1]\n[2]\n\n[3,}\n[4]"), chunk:) }.line
    end
  end
end
