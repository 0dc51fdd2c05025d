# frozen_string_literal: true

require "json"
require "open3"

# Random regular expressions of ECMA-262 and what node makes of them: the verdicts of a browser.
class EcmaPatterns
  NODE = ENV.fetch("NODE", "node")
  # Texts of two letters, and what is special to one of the forms.
  TEXTS = [*(0..4).flat_map { |size| %w[a b].repeated_permutation(size).map(&:join) }, "1", "12", "a1", "1a", "ab1", "-", "a-b", "--", "_", "]", "}", "{",
           "{2}", "a{,2}", " ", "a b", "\n", "a\n", "\na", "\r", "\u2028", "\u2029", "\v", "\b", "\0", "\u00a0", "\ufeff", "\u200b", "é", "éa", "ß", "A", "Z", "٣",
           "\u{1F600}", "a\u{1F600}b", "π", "Σ", "ǅ", "\u0301", "k", "\u212a", "ſ", "^", "$", "\\", "/", ".", "aaaaaa", "ababab", "aabb"].freeze
  PROGRAM = <<~'JS'
    const lines = require("fs").readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const compile = (source, flags) => { try { return new RegExp(source, flags) } catch { return null } };
    const texts = lines.shift();
    // From each character on: left to itself, node also begins between the two halves of a surrogate pair.
    const places = texts.map((text) => [...text].reduce((found, character) => [...found, found.at(-1) + character.length], [0]));
    const matches = (regexp, text, index) => places[index].some((place) => { regexp.lastIndex = place; return regexp.test(text) });
    for (const source of lines) {
      const strict = compile(source, "uy"), lax = strict ? null : compile(source, "y"), used = strict || lax;
      const verdicts = used ? texts.map((text, index) => matches(used, text, index) ? 1 : 0).join("") : "";
      console.log(JSON.stringify([strict ? "u" : lax ? "lax" : "invalid", verdicts]));
    }
  JS
  CHARACTERS = ["a", "b", "a", "b", "c", "1", "-", "_", "é", " ", ",", "π", "\u{1F600}"].freeze
  ESCAPES = <<~'WORDS'.split.freeze
    \d \D \w \W \s \S \n \t \v \0 \cJ \x61 \u0061 \u{61} \u{0000061} \ud83d\ude00 \. \/ \^ \$ \\ \[ \] \{ \} \( \| \- \p{L} \P{L} \p{Lu} \p{Lowercase_Letter}
    \p{gc=Nd} \p{General_Category=Letter} \p{Script=Greek} \p{sc=Latn} \P{Script=Cyrl} \p{ASCII} \p{Any} \p{punct} \p{Alpha} \p{Emoji} \p{White_Space}
  WORDS
  # Not valid with the flag u, or not at all.
  ODD = <<~'WORDS'.split.freeze
    ] } { {2 {,2} \a \_ \@ \8 \c \u \u{} \u{110000} \x6 \ud83d \p{Foo} \p{Greek} \p{letter} \p{^L} \pL \k<y> (?i:a) (?>a) ++ *+ ** [b-a] [a-\d] [\w-.] [ ( )
    (?#x) (?<1>a) \Z \h \R a{2,1} (?=a)* ^* \b+ \01 \07 [\01]
  WORDS
  SETS = ["a-b", "b-y", "0-9", "--a", "é-π", "a-\u{1F600}", '\x20-\x7e', '\u{0}-\u{10ffff}', "\\ud7ff-\\ue000"].freeze
  SIGNS = <<~'WORDS'.split.freeze
    - [ && [: \b \- . $ ( ^ &
  WORDS
  # @return [Boolean]
  def self.available? = system(NODE, "--version", out: File::NULL, err: File::NULL) || false

  # @param random [Random]
  def initialize(random)
    @random = random
  end

  # @return [String]
  def pattern
    @groups = 0
    @named = false
    source = choice(3)
    source = "^#{source}$" if one_in?(2)
    source = source.dup.insert(@random.rand(source.size + 1), pick(ODD)) if one_in?(8)
    source
  end

  # @param sources [Array<String>]
  # @return [Array(Array(String, String))] "u", "lax" (without the flag) or "invalid", and a "0" or "1" for each of TEXTS
  def self.verdicts(sources)
    input = [TEXTS, *sources].map { |line| JSON.generate(line) }.join("\n")
    output, status = Open3.capture2(NODE, "-e", PROGRAM, stdin_data: input)
    raise "node failed: #{status}" unless status.success?

    output.lines.map { |line| JSON.parse(line) }
  end

  private

  def choice(depth) = Array.new(one_in?(4) ? 2 : 1) { sequence(depth) }.join("|")
  def sequence(depth) = Array.new(@random.rand(1..3)) { term(depth) }.join
  def term(depth) = depth.positive? && one_in?(2) ? nested(depth - 1) : "#{atom}#{quantifier}"

  def nested(depth)
    case @random.rand(14)
    when 0..3 then "#{group(depth)}#{quantifier}"
    when 4, 5 then "(?:#{choice(depth)})#{quantifier}"
    when 6 then "(?=#{choice(depth)})"
    when 7 then "(?!#{choice(depth)})"
    when 8 then "(?<=#{choice([depth, 1].min)})"
    when 9 then "(?<!#{choice([depth, 1].min)})"
    else "#{reference}#{quantifier}"
    end
  end

  def group(depth)
    @groups += 1
    name = "?<x>" unless @named || !one_in?(5)
    @named ||= !name.nil?
    "(#{name}#{choice(depth)})"
  end

  def reference
    return "\\k<x>" if @named && one_in?(2)

    "\\#{@random.rand(1..[@groups + (one_in?(4) ? 1 : 0), 1].max)}"
  end

  def atom
    case @random.rand(10)
    when 0..5 then pick(CHARACTERS)
    when 6 then pick(ESCAPES)
    when 7 then pick(%w[^ $ . . \\b \\B])
    else character_class
    end
  end

  def character_class
    members = Array.new(@random.rand(0..3)) do
      case @random.rand(8)
      when 0..2 then pick(CHARACTERS)
      when 3 then pick(SETS)
      when 4, 5 then pick(ESCAPES)
      else pick(SIGNS)
      end
    end
    "[#{"^" if one_in?(3)}#{members.join}]"
  end

  def quantifier
    return if one_in?(2)

    "#{pick(%w[* + ? {2} {1,2} {0,2} {2,} {0} {1} {0,1}])}#{"?" if one_in?(3)}"
  end

  def pick(list) = list[@random.rand(list.size)]
  def one_in?(number) = @random.rand(number).zero?
end
