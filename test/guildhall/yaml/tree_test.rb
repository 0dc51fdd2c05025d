# frozen_string_literal: true

require "test_helper"
require "guildhall/yaml"

class YAMLTreeTest < GuildhallTest
  def written(text) = Guildhall::YAML.encode([text]).delete_prefix("---\n- ").chomp

  def test_texts_that_are_read_as_something_else_are_quoted
    ["2016-09-31", "0000-00-00", "2016-09-30", "2016-09-31 25:00:00", "2001-12-14t21:59:43.10-05:00", "1:30", "190:20:30.15", "0o17", "017", "089", "0x1F", "0b1", "1_000", "1e3",
     ".5", "+1", ".inf", "-.INF", ".nan", "y", "N", "yes", "No", "ON", "off", "TRUE", "null", "~", "=", ":a", "@a", "- a", "a: b", "*a"].each do |text|
      assert_match(/\A(['"]).*\1\z/, written(text), text)
      assert_equal [text], Guildhall::YAML.decode(Guildhall::YAML.encode([text]))
      assert_equal({text => 1}, Guildhall::YAML.decode(Guildhall::YAML.encode({text => 1})))
    end
    assert_equal "! '<<'".sub("! ", "!!str "), written("<<")
    assert_equal({"<<" => {"a" => 1}}, Guildhall::YAML.decode(Guildhall::YAML.encode({"<<" => {"a" => 1}})))
  end

  def test_other_texts_stay_as_they_are
    ["a", "12 apples", "v1.2", "a b", "é", "nothing", "yesterday", "https://example.org/a?b=c#d"].each { |text| assert_equal text, written(text) }
  end

  def test_lines
    assert_equal "|\n  a\n\n    b\n  c", written("a\n\n  b\nc\n")
    ["\na", " a\nb", "a \nb", "a\n\n", "a\r\nb", "\n", "a\tb\nc", "a\n\u2028"].each do |text|
      assert_equal [text], Guildhall::YAML.decode(Guildhall::YAML.encode([text])), text.inspect
    end
  end

  def test_characters_that_need_an_escape
    ["\0", "\e", "\x7f", "\u0085", "\u00A0", "\u2028", "\uFEFF", "\u200E", "\t", " a", "a "].each { |text| assert_match(/\A"/, written("#{text}a#{text}"), text.inspect) }
    assert_equal "\u{1F600}", Guildhall::YAML.decode(Guildhall::YAML.encode("\u{1F600}"))
    assert_equal "é", Guildhall::YAML.decode(Guildhall::YAML.encode("é".encode("ISO-8859-1")))
    assert_equal "\xff".b, Guildhall::YAML.decode(Guildhall::YAML.encode("\xff".b))
  end
end
