# frozen_string_literal: true

require "test_helper"
require "guildhall/json"

# The language of RFC 9485, and no more than that.
class IRegexpTest < GuildhallTest
  IRegexp = Guildhall::JSON::Path::IRegexp

  MATCHES = {
    "a.c" => [%w[abc a/c a§c], ["a\nc", "a\rc", "ac", "abcd"]],
    "[a-c]+|x" => [%w[abc x], ["d", "", "ax"]],
    "[^a-c]" => [%W[d \n], %w[a dd]],
    "[-a]" => [%w[- a], ["b"]], "[a-]" => [%w[- a], ["b"]],
    "^a$" => [["a"], ["^a$"]], "a\\^?" => [%w[a a^], ["^a"]], "[$^]+" => [["^$"], ["a"]], "a^b" => [[], ["a^b", "ab"]], # anchors, as in ECMAScript
    "[&&x]+" => [["&&x"], ["y"]], "[:alpha]+" => [[":alpha"], ["z"]],
    '\\p{Lu}\\P{Lu}' => [%w[Ab Éa], %w[AB ab]], '[\\p{L}\\-]+' => [["a-é"], ["1"]],
    "(ab){2,3}" => [%w[abab ababab], %w[ab abababab]], "a{2}" => [["aa"], %w[a aaa]], "a{2,}" => [%w[aa aaaa], ["a"]],
    '\\.\\n\\t\\\\' => [[".\n\t\\"], ["x\n\t\\"]], "" => [[""], ["a"]], "a||b" => [["a", "b", ""], ["c"]], "é+" => [["éé"], ["e"]], "a b#c" => [["a b#c"], ["abc"]]
  }.freeze

  def test_what_matches_as_a_whole
    MATCHES.each do |source, (yes, no)|
      regexp = IRegexp.compile(source, whole: true)
      yes.each { |text| assert regexp.match?(text), [source, text].inspect }
      no.each { |text| refute regexp.match?(text), [source, text].inspect }
    end
  end

  def test_search
    assert IRegexp.compile("b+", whole: false).match?("abbc")
    ["^b", "c$"].each do |source|
      assert IRegexp.compile(source, whole: false).match?("bc"), source
      refute IRegexp.compile(source, whole: false).match?("abca"), source
      refute IRegexp.compile(source, whole: false).match?("a\nbc\na"), source
    end
  end

  def test_what_is_none
    ["\\d", "\\w", "(?:a)", "(?=a)", "a++", "a*?", "[", "[]", "[^]", "a)", "(a", "*", "\\p{Greek}", "\\1", "[a", "{2}", "a{3,2}", "[b-a]", "a{,2}", "\\"].each do |source|
      assert_nil IRegexp.compile(source, whole: true), source
    end
  end

  def test_sources_in_other_encodings
    [*%w[UTF-8 ISO-8859-1 UTF-16LE IBM037].map { |encoding| "é+".encode(encoding) }, "é+".b].each do |source|
      assert_equal(/\A(?:é+)\z/, IRegexp.compile(source, whole: true), source.encoding.to_s)
    end
    ["a\xFF", "a\xFF".b, "a\xFF".dup.force_encoding("US-ASCII"), "\x00\xD8".dup.force_encoding("UTF-16LE"), "a".dup.force_encoding("UTF-7")].each do |source|
      assert_nil IRegexp.compile(source, whole: true), source.inspect
    end
  end
end
