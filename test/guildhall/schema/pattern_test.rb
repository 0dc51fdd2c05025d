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
    ["^🐲*$", ["", "🐲🐲"], ["🐉"]],
    # A lazy {n} is still n times.
    ["^\\d{4}?$", ["2024"], ["", "20"]], ["^[A-Z]{2}?\\d+$", ["AB7"], ["7"]], ["^(?:\\d{3}-){2}?\\d{4}$", ["123-123-1234"], ["1234"]], ["^[^@]{1}?@x$", ["a@x"], ["@x"]],
    ["^(?:ab){0}c$", ["c"], ["abc"]], ["^(?:a{2}){2}?$", ["aaaa"], ["", "aa"]],
    # A group that took no part matches the empty text.
    ["^([\"'])?\\w+\\1$", ["abc", "'abc'"], ["'abc", "'abc\""]], ["^(?:(a)|b)\\1c$", %w[bc aac], %w[ac bbc]], ["^(-)?\\d+\\1$", %w[12 -12-], %w[-12]],
    ["^(?:(?<quote>['\"])|x)y\\k<quote>$", ["xy", "'y'"], ["'y", "x"]], ["^\\1(a)$", ["a"], ["aa"]], ["^\\k<x>(?<x>a)(b)\\2$", ["abb"], ["aabb"]],
    ["^(a\\1)$", ["a"], ["aa"]], ["^(?:(a)|\\1b)$", %w[a b], ["ab"]], ["(?=(a)?)\\1b$", %w[b ab cb], ["c"]], ["^(?!(a))\\1b$", ["b"], ["ab"]],
    ["(?<=(a)\\1)b", ["ab"], ["b"]], ["^(a){0}\\1b$", ["b"], ["ab"]], ["^(a)|\\1b$", %w[a b xb], ["c"]],
    # Each turn of a repetition begins with unset groups.
    ["^(?:(a)?b\\1)+$", %w[b aba abab bb], %w[ab abb abaab]], ["^(?:(a|b)\\1)+$", %w[aa aabb], %w[ab aab]], ["^(?:\\1(a)b)+$", %w[ab abab], ["aba"]],
    ["^(?:(a)|\\1b)+$", %w[a b ab abb], ["c"]], ["^(?:(a|b)c)+\\1$", %w[aca acbcb], %w[acb acbca]], ["^(?:(?:(a)b)+)?\\1c$", %w[c abac], ["abc"]],
    ["(a?)\\1\\b2", ["{2}", "2"], ["12"]], ["^(a?)\\1\\B2|(x)\\1\\B3", ["x3"], %w[2 3]],
    # Sets of characters.
    ["^[\\w-.]+$", ["a-.b"], ["a b"]], ["^[\\W\\d]$", ["1", "-", "é"], ["a"]], ["^[^\\D]$", ["1"], ["a"]], ["^[^\\P{L}a]$", ["b"], %w[a 1]],
    ["^[a-z&&[b]$", %w[a b & \[], ["]"]], ["^[[:alpha:]]$", ["a]", ":]"], ["b]", "b"]], ["^[\\u{0}-\\u{10ffff}]$", ["a", "\u{1F600}"], [""]], ["^[(-+]$", ["*"], ["a"]],
    ["^\\p{punct}$", ["!", "—"], ["$", "+"]], ["^\\p{Lowercase_Letter}\\p{sc=Grek}$", ["aπ"], ["Aπ"]], ["^\\p{ASCII}\\P{Any}?$", ["a"], ["é"]], ["^\\u{0000061}$", ["a"], ["b"]],
    ["^(?<ä$1>a)\\k<ä$1>$", ["aa"], ["a"]], ["^\\-\\_\\@$", ["-_@"], ["a"]], ["^(?:a?)*?$", ["", "aa"], ["b"]], ["^(?:(?:a+)?)*b{1}?$", %w[b aab], ["a"]],
    ["^(?:a|){2,3}$", ["", "aaa"], ["aaaa"]], ["^(?:a?){2}?$", ["", "aa"], ["aaa"]]
  ].freeze
  REFUSED = ["a++", "a**", "(?>a)", "(?i)a", "(?#x)", "\\a", "\\Z", "\\z", "\\h", "(a", "a)", "[a", "\\ud83d", "\\u{110000}", "*a",
             "[b-a]", "a{2,1}", "^*", "\\b+", "(?=a)*", "a{1}{2}", "[\\p{L}-z]", "(?<x>a)(?<x>b)", "(?<1>a)", "\\1", "(a)\\2", "\\k<x>", "\\8", "\\01", "[\\01]", "\\c", "[\\c1]",
             "\\u{}", "\\x1", "\\pL", "\\p{^L}", "\\p{Greek}", "\\p{letter}", "\\p{Alnum}", "\\p{gc=Greek}", "\\p{Script=greek}", "\\p{Script=L}", "\\p{In_Greek}", "(?<=a", "a\xff",
             "\xE9".b].freeze
  # Valid, and more than Ruby's expressions can do.
  IMPOSSIBLE = ["^(?:(a)|b)*\\1$", "^(a*)*\\1$", "^(?:(?:(a)|b)c\\1)+$", "\\p{Script_Extensions=Greek}", "\\p{Bidi_Mirrored}", "(?<=a*)b", "a{200000}", "^(?:^|b){2}$"].freeze

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

  def test_refuses_what_ruby_cannot_express
    IMPOSSIBLE.each { |source| assert_match(/Ruby (cannot express|has no)/, assert_raises(PATTERN::Error, source) { PATTERN.compile(source) }.message) }
    assert_raises(PATTERN::Error) { PATTERN.compile("#{"(" * 10_000}#{")" * 10_000}") }
  end

  # Both keywords read an expression in the same way.
  def test_names_of_properties
    CASES.each do |source, matching, others|
      validator = Guildhall::Schema.new({"patternProperties" => {source => false}}).validator
      [*matching, *others].each { |name| assert_equal others.include?(name), validator.valid?({name => 1}), "#{source} #{name.inspect}" }
    end
    error = assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new({"patternProperties" => {"(?>a)" => true}}).validator }
    assert_match(/patternProperties/, error.message)
  end

  # Thousands of groups, references and repetitions take no longer than their length.
  def test_long_expressions
    pattern = PATTERN.translate("#{"(a)" * 2_000}#{(1..2_000).map { |number| "\\#{number}" }.join}")
    assert_equal 2_000, pattern.scan("(?(").size
    assert_equal "b{2}", PATTERN.translate("#{"(?:" * 150}b{2}#{")" * 150}")
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
