# frozen_string_literal: true

require "guildhall/json"
require "stringio"

class JSONStreamTest < GuildhallTest
  TEXT = "{\"a\":\"é}\\\"\"}\n[2,[3]]\n 3 \"x{\\\\\"true{}null 1.5\n"
  VALUES = [{"a" => "é}\""}, [2, [3]], 3, "x{\\", true, {}, nil, 1.5].freeze

  def read(...) = Guildhall::JSON.each_document(...).map { |value| value.is_a?(Guildhall::JSON::Document) ? value.decode : value }

  def test_of_a_string
    assert_equal VALUES, read(TEXT)
    assert_equal [], read(" \n")
  end

  def test_of_an_io_in_chunks_of_any_size
    (1..40).each { |chunk| assert_equal VALUES * 2, read(StringIO.new(TEXT * 2), chunk:), chunk.to_s }
  end

  def test_a_chunk_of_nothing
    [0, -1, nil, 1.5].each { |chunk| assert_raises(Guildhall::ArgumentError, chunk.inspect) { read(StringIO.new("1"), chunk:) } }
  end

  def test_other_encodings
    text = "[\"é\"]\n{}\n2"
    [{}, {on_error: :skip}].each do |options|
      %w[UTF-16LE ISO-8859-1].each { |name| assert_equal [["é"], {}, 2], read(text.encode(name), **options), name }
    end
    assert_raises(Guildhall::DecodeError) { read("\x81".dup.force_encoding("Windows-1252")) }
  end

  def test_what_is_no_source
    [nil, :sym, 12, [], Object].each do |source|
      error = assert_raises(TypeError) { read(source) }
      assert_includes error.message, "each_document reads a String or an IO"
    end
  end

  def test_errors_count_from_the_beginning
    ["[1]\n[2,}\n[3]", "[1]\n[2,"].each do |text|
      values = []
      error = assert_raises(Guildhall::JSON::ParseError) { Guildhall::JSON.each_document(StringIO.new(text), chunk: 3) { |value| values << value.decode } }
      assert_equal [[[1]], 7], [values, error.offset]
    end
  end

  def test_large_texts_are_read_in_linear_time
    text = "[#{(["\"#{"x" * 1000}\""] * 3000).join(",")}]" # 3 MB, chunks of 1 KB
    assert_equal 3000, read(StringIO.new(text), chunk: 1024).first.size
  end

  # Gives the same bytes for ever, and notes how many were taken.
  class Endless
    attr_reader :taken

    def initialize(first, rest)
      @next = first
      @rest = rest
      @taken = 0
    end

    def read(size)
      given = @next
      @next = (@rest * ((size / @rest.bytesize) + 1))[0, size]
      @taken += given.bytesize
      given
    end
  end

  def test_a_text_without_end_is_refused_in_time
    codec = Guildhall::JSON.new(max_bytes: 10_000)
    {"[" => "1,", "\"" => "x", "1" => "1", "{\"a\":" => "[", "" => "y"}.each do |first, rest|
      source = Endless.new("1 #{first}", rest)
      seen = []
      error = assert_raises(Guildhall::JSON::ParseError) { codec.each_document(source, chunk: 1_000) { seen << it } }
      assert_equal [1], seen
      assert_includes error.message, "max_bytes" unless rest == "y"
      assert_operator source.taken, :<, 50_000
    end
  end

  def test_space_without_end_takes_no_memory
    source = Endless.new("1", " ")
    codec = Guildhall::JSON.new(max_bytes: 10_000)
    largest = 0
    source.define_singleton_method(:read) { |size| (largest = [largest, size].max) && (taken > 3_000_000 ? nil : super(size)) }
    assert_equal [1], codec.each_document(source, chunk: 1_000).to_a
    assert_equal 1_000, largest
  end
end
