# frozen_string_literal: true

require "test_helper"
require "guildhall/text"

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

  def test_other_encodings
    latin = Guildhall::Text.new(encoding: "ISO-8859-1")
    assert_equal "grüße", latin.decode("gr\xfc\xdfe".b)
    assert_equal "gr\xfc\xdfe".b, latin.encode("grüße").b
    assert_raises(Guildhall::EncodeError) { latin.encode("日本") }
    assert_equal "日本", Guildhall::Text.new(encoding: "Shift_JIS").decode("\x93\xfa\x96\x7b".b)
    assert_raises(Guildhall::DecodeError) { Guildhall::Text.new(encoding: "UTF-16LE").decode("\x00\xd8".b) }
    assert_equal "a?", Guildhall::Text.new(encoding: "UTF-16LE", invalid: "?").decode("a\0\x00\xd8".b)
  end

  def test_byte_order_mark
    assert_equal "a", Guildhall::Text.decode("\xEF\xBB\xBFa".b)
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
    assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(encoding: "no such") }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Text.new(invalid: 1) }
  end

  def test_in_a_ractor
    codec = Guildhall::Text.new(encoding: "ISO-8859-1")
    assert_equal %w[ü a], ractor_value(Ractor.new(codec) { |latin| [latin.decode("\xfc".b), Guildhall::Text.decode("a")] })
  end
end
