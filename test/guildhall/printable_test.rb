# frozen_string_literal: true

require "test_helper"
require "guildhall/printable"

class PrintableTest < GuildhallTest
  Printable = Guildhall::Printable

  def test_bytes_become_ascii
    {"plain" => "plain", "\e[31m" => "\\x1B[31m", "ü" => "\\xC3\\xBC", "a\nb" => "a\\x0Ab", nil => nil, "" => ""}.each do |text, shown|
      shown.nil? ? assert_nil(Printable.bytes(text, 40)) : assert_equal(shown, Printable.bytes(text, 40))
    end
  end

  def test_bytes_are_cut
    assert_equal "abc", Printable.bytes("abcdef", 3)
    assert_operator Printable.bytes("\x00" * 100, 40).bytesize, :<=, 40
  end

  def test_words_stay_as_they_are_but_for_what_could_do_something
    {"naïve 日本 €" => "naïve 日本 €", "a\u0007b" => "a\\u{7}b", "\u202Eevil" => "\\u{202E}evil", "a\nb" => "a\\u{A}b", nil => nil}.each do |text, shown|
      shown.nil? ? assert_nil(Printable.words(text, 40)) : assert_equal(shown, Printable.words(text, 40))
    end
  end

  def test_durations
    assert_equal ["0 s", "0.4 s", "8 s", "9.9 s", "10 s", "1m00s", "3m42s", "1h00m", "2h07m", "1d01h"],
      [0, 0.42, 8.0, 9.93, 9.97, 59.9, 222, 3_599.7, 7_640, 90_000].map { |seconds| Printable.duration(seconds) }
  end

  def test_words_of_any_encoding_are_valid_utf8
    ["\xFF".b, "\xFFa", "ü".encode("ISO-8859-1"), "a".encode("UTF-16LE")].each do |text|
      shown = Printable.words(text, 40)
      assert_equal Encoding::UTF_8, shown.encoding
      assert_predicate shown, :valid_encoding?
    end
    assert_equal "ü", Printable.words("ü".encode("ISO-8859-1"), 40)
  end

  def test_words_are_cut
    assert_equal "abc…", Printable.words("abcdef", 3)
    assert_operator Printable.words("\u0007" * 100, 40).size, :<=, 41
  end

  def test_an_encoding_that_ruby_cannot_convert
    assert_equal ["+AOk-", Encoding::UTF_8], Printable.utf8("+AOk-".dup.force_encoding("UTF-7")).then { |text| [text, text.encoding] }
  end

  def test_numbers_and_sizes
    assert_equal %w[0 999 1,000 1,204,331], [0, 999, 1_000, 1_204_331].map { |number| Printable.number(number) }
    assert_equal ["0 B", "999 B", "1.0 KB", "1.2 MB", "5000.0 TB"], [0, 999, 1_000, 1_204_331, 5 * (10**15)].map { |bytes| Printable.size(bytes) }
  end

  def test_lines_stay
    assert_equal "a\n\tb\\u{202E}\\u{0}\u{FFFD}", Printable.lines("a\n\tb\u202e\0\xFF")
  end
end
