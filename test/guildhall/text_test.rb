# frozen_string_literal: true

require "test_helper"
require "guildhall/text"
require "guildhall"

class TextTest < GuildhallTest
  def test_utf8
    text = Guildhall::Text.decode("grüße".b)
    assert_equal "grüße", text
    assert_equal Encoding::UTF_8, text.encoding
    assert Ractor.shareable?(text)
    frozen = "grüße"
    assert_same frozen, Guildhall::Text.decode(frozen)
  end

  def test_does_not_change_what_it_is_given
    bytes = "grüße".b
    Guildhall::Text.decode(bytes)
    assert_equal Encoding::BINARY, bytes.encoding
    refute_predicate bytes, :frozen?
  end

  def test_invalid_bytes
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Text.decode("aü\xffb".b) }
    assert_equal ["Text", 3], [error.codec, error.offset]
    assert_equal "\\xFFb", error.excerpt
    assert_equal "aü?b", Guildhall::Text.new(invalid: "?").decode("aü\xffb".b)
  end

  # A String a character would take minutes.
  def test_finds_the_invalid_byte_of_a_long_text
    long = "aé" * 2_000_000
    GC.start
    before = GC.stat(:total_allocated_objects)
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Text.decode("#{long}\xE2\x82".b) }
    assert_equal long.bytesize, error.offset
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "UTF-16LE").decode("ab".encode("UTF-16LE").b * 500_000 + "\x00\xD8".b) }
    assert_equal 2_000_000, error.offset
    assert_operator GC.stat(:total_allocated_objects) - before, :<, 1_000
    assert_equal 3, assert_raises(Guildhall::DecodeError) { Guildhall::Text.decode("\xEF\xBB\xBF\xFF".b) }.offset
    assert_equal 1, assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "Shift_JIS").decode("a\x81".b) }.offset
    assert_equal 2, assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "EUC-JP").decode("ab\xFFc".b) }.offset
  end

  def test_max_bytes
    assert_equal "abc", Guildhall::Text.new(max_bytes: 3).decode("abc")
    assert_equal ["Text", 3], assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(max_bytes: 3).decode("abcd") }.then { |error| [error.codec, error.offset] }
  end

  def test_what_is_no_text
    [Guildhall::Text, Guildhall::JSON, Guildhall::MessagePack, Guildhall::CSV, Guildhall::YAML, Guildhall::Avro.new("int")].each do |codec|
      [nil, 1, :a].each { |bytes| assert_raises(TypeError, "#{codec} #{bytes.inspect}") { codec.decode(bytes) } }
    end
    assert_raises(Guildhall::EncodeError) { Guildhall::Text.encode("\xFF") }
  end

  def test_other_encodings
    latin = Guildhall::Text.new(encoding: "ISO-8859-1")
    assert_equal "grüße", latin.decode("gr\xfc\xdfe".b)
    assert_equal "gr\xfc\xdfe".b, latin.encode("grüße").b
    {"日本" => 0, "é日" => 1, "é日".encode("UTF-16LE") => 1, "é日".encode("EUC-JP") => 1, "\xFF".b => 0}.each do |text, place|
      error = assert_raises(Guildhall::EncodeError) { latin.encode(text) }
      assert_match(/\AText: .*to (?:ISO-8859-1|UTF-8).* at character #{place}\z/, error.message)
    end
    assert_equal "日本", Guildhall::Text.new(encoding: "Shift_JIS").decode("\x93\xfa\x96\x7b".b)
    assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "UTF-16LE").decode("\x00\xd8".b) }
    assert_equal "a?", Guildhall::Text.new(encoding: "UTF-16LE", invalid: "?").decode("a\0\x00\xd8".b)
  end

  def test_byte_order_mark
    assert_equal "a", Guildhall::Text.decode("\xEF\xBB\xBFa".b)
    assert_equal "a", Guildhall::Text.new(encoding: "UTF-16LE").decode("\uFEFFa".encode("UTF-16LE").b)
    assert_equal "\uFEFFa", Guildhall::Text.new(bom: false).decode("\xEF\xBB\xBFa".b)
  end

  def test_bytes_untouched
    codec = Guildhall::Text.new(encoding: :bytes)
    assert_equal "\xff\x00".b, codec.decode("\xff\x00".b)
    bytes = "\xff\x00".b.freeze
    assert_same bytes, codec.decode(bytes)
    assert_same bytes, codec.encode(bytes)
  end

  def test_options_are_checked
    ["no such", "UTF-7", 7, nil].each { |encoding| assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(encoding:) } }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(max_bytes: 0) }
    [1, "\xff", "\xff".b].each { |invalid| assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(invalid:) } }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(encoding: :bytes, invalid: "?") }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(bom: nil) }
  end

  def test_says_where_a_byte_has_no_place_in_utf8
    error = assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "Windows-1252").decode("ab\x81c".b) }
    assert_equal [2, "\\x81c"], [error.offset, error.excerpt]
    assert_equal 0, assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "UTF-16").decode("\0a".b) }.offset
  end

  def test_in_a_ractor
    codec = Guildhall::Text.new(encoding: "ISO-8859-1")
    assert_equal %w[ü a], ractor_value(Ractor.new(codec) { |latin| [latin.decode("\xfc".b), Guildhall::Text.decode("a")] })
  end

  def test_what_is_no_string_cannot_be_encoded
    [nil, 5].each do |object|
      [Guildhall::Text, Guildhall::Text.new(encoding: :bytes)].each { |codec| assert_raises(Guildhall::EncodeError) { codec.encode(object) } }
    end
  end

  def test_max_bytes_holds_for_what_is_written
    assert_equal "abc", Guildhall::Text.new(max_bytes: 3).encode("abc")
    [{}, {encoding: :bytes}].each { |options| assert_raises(Guildhall::EncodeError) { Guildhall::Text.new(max_bytes: 3, **options).encode("abcd") } }
  end
end
