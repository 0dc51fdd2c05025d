# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/msgpack"
require "guildhall/schema"

# ECMA-262's regular expressions in Ruby.
class SchemaPatternTest < GuildhallTest
  PATTERN = Guildhall::Schema.const_get(:Pattern)
  # source, matches, does not match
  CASES = [
    ["^abc$", ["abc"], %W[abc\n x\nabc abcd]],
    ["a.c", ["abc", "a\u{1F600}c"], ["a\nc", "a\rc", "a\u2028c"]],
    ["^\\d+$", ["12"], ["١٢"]],
    ["^\\w$", ["_"], ["ü"]],
    ["^\\W$", ["ü"], ["a"]],
    ["^\\s$", [" ", "\u00a0", "\ufeff", "\u2029"], ["a"]],
    ["^[^\\s]$", ["a"], ["\u00a0"]],
    ["^[\\S]$", ["a"], ["\u00a0"]],
    ["\\bcd\\b", ["ab cd", "écd"], ["abcd"]],
    ["^\\u00e9$", ["é"], ["e"]],
    ["^\\xe9$", ["é"], ["e"]],
    ["^\\u{1F600}$", ["\u{1F600}"], ["x"]],
    ["^\\ud83d\\ude00$", ["\u{1F600}"], ["x"]],
    ["^\\cI$", ["\t"], ["I"]],
    ["^\\0$", ["\0"], ["0"]],
    ["^[a&&b]+$", ["a&b"], ["c"]],
    ["^[[a]]$", ["a]", "[]"], %w[a b]],
    ["^[\\]\\-\\b]+$", ["]-\b"], ["b"]],
    ["^[^]$", %W[\n a], [""]],
    ["[]", [], ["", "a"]],
    ["^a{,3}$", ["a{,3}"], ["aa"]],
    ["^a{2,3}?$", ["aa"], ["a"]],
    ["^\\p{L}\\P{L}$", ["é1"], ["11"]],
    ["^\\p{Script=Greek}\\p{gc=Lu}$", ["πΣ"], ["pS"]],
    ["^(?:a|b)(?=c)(?!d)c$", ["ac"], ["ad"]],
    ["(?<=a)b(?<!c)", ["ab"], ["cb"]],
    ["^(a)\\1$", ["aa"], ["ab"]],
    ["^(?<x>a)\\k<x>$", ["aa"], ["ab"]],
    ["^\\/\\.\\$%$", ["/.$%"], ["/a"]],
    ["^a b$", ["a b"], ["ab"]],
    ["^🐲*$", ["", "🐲🐲"], ["🐉"]]
  ].freeze
  REFUSED = ["a++", "a**", "(?>a)", "(?i)a", "(?#x)", "\\a", "\\Z", "\\z", "\\h", "(a", "a)", "[a", "\\ud83d", "\\u{110000}", "*a",
             "[b-a]"].freeze

  def test_means_what_it_means_there
    CASES.each do |source, matching, others|
      regexp = PATTERN.compile(source)
      matching.each { |text| assert_match regexp, text, source }
      others.each { |text| refute_match regexp, text, source }
    end
  end

  def test_refuses_what_is_not_there
    REFUSED.each { |source| assert_raises(PATTERN::Error, source) { PATTERN.compile(source) } }
  end

  def test_is_shareable_and_limited_in_time
    regexp = PATTERN.compile("^(a|a)*\\1$", timeout: 0.05)
    assert Ractor.shareable?(regexp)
    assert_in_delta 0.05, regexp.timeout
    assert_raises(Regexp::TimeoutError) { regexp.match?(("a" * 40) + "b") }
  end

  def test_what_is_no_text_matches_nothing
    schema = Guildhall::Schema.new({"type" => "string", "pattern" => "^.?é?$"}).validator
    bytes = Guildhall::MessagePack.document(Guildhall::MessagePack.encode(["\xFF"]))[0]
    ["\xFF", "\xFF".b, bytes].each { |text| refute schema.valid?(text), text.inspect }
    assert schema.valid?("é".encode("ISO-8859-1"))
    assert schema.valid?("é".encode("UTF-16LE"))
    assert Guildhall::Schema.new({"patternProperties" => {"^a" => false}}).validator.valid?({"a\xFF" => 1})
  end
end
