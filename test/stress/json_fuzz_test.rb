# frozen_string_literal: true

require "test_helper"
require "support/fuzz_program"
require "json"
require "tmpdir"

# Mutated real payloads: the reader in C under the sanitizers, and the codec beside the json gem. SEED= repeats a run,
# ROUNDS= makes it longer.
class JSONFuzzTest < GuildhallTest
  include FuzzProgram

  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  CODEC = Guildhall::JSON
  # The gem accepts these and we do not, or the other way round: docs/json.md lists why.
  SPLICES = ["\"", "\\", "\\u", "\\ud800", "[", "]", "{", "}", ",", ":", "\xFF", "\xE2\x82", "0", "-", "1e", ".5", "NaN", "true",
             "\"a\":1,\"a\":2", "[[[[[[[[", "99999999999999999999", " ", "\n", "\u0001", "//", "e400", "/* */"].map(&:b).freeze

  # Each of the reader's paths: without vectors, with those of every processor, with the widest of this one. All of them
  # make the same tapes and find the same errors.
  def test_sanitizers
    puts "JSON fuzz: SEED=#{SEED} ROUNDS=#{ROUNDS}"
    Dir.mktmpdir do |folder|
      program = fuzz_program(folder, "json_fuzz")
      corpus = json_corpus(folder, SEED)
      found = %w[none base best].to_h { |level| [level, run_fuzz(program, SEED, ROUNDS * 5, corpus, env: {"GUILDHALL_SIMD" => level})] }
      assert_equal 1, found.values.uniq.size, "SEED=#{SEED} #{found}"
    end
  end

  def test_verdicts_and_values_are_the_gems
    puts "JSON beside the gem: SEED=#{SEED} ROUNDS=#{ROUNDS}"
    random = Random.new(SEED)
    kinds = Hash.new(0)
    ROUNDS.times do
      text = mutate(texts.sample(random:), random)
      kinds[compare(text)] += 1
    end
    assert_operator kinds[:value], :>, ROUNDS / 50, kinds.inspect
    assert_operator kinds[:refused], :>, ROUNDS / 5, kinds.inspect
  end

  private

  def texts = @texts ||= json_texts(SEED)

  def mutate(text, random)
    made = text.b
    random.rand(1..3).times do
      at = random.rand(made.bytesize + 1)
      case random.rand(5)
      when 0 then made.setbyte(at % made.bytesize, made.getbyte(at % made.bytesize) ^ (1 << random.rand(8))) unless made.empty?
      when 1 then made = made.byteslice(0, at)
      when 2 then made.slice!(at, random.rand(1..20))
      when 3 then made.insert(at, SPLICES.sample(random:))
      else made.insert(at, made.byteslice(random.rand(made.bytesize + 1), random.rand(200)).to_s)
      end
    end
    made.force_encoding("UTF-8").freeze
  end

  # What became of the text: :value (of both), :refused (by both), or the documented difference that explains it.
  def compare(text)
    theirs = attempt { JSON.parse(text) }
    ours = attempt { CODEC.decode(text) }
    lazy = attempt { CODEC.document(text).then { |document| document.is_a?(CODEC::Document) ? document.decode : document } }
    assert alike?(ours, lazy), failure(text, ours, lazy)
    return :refused if ours.is_a?(StandardError) && theirs.is_a?(StandardError)
    return :value if alike?(ours, theirs)

    difference(text, ours, theirs) || flunk(failure(text, ours, theirs))
  end

  # Zero, whatever its exponent: the gem takes it for infinite where the exponent has very many digits.
  HUGE_ZERO = /(?<![\d.eE+-])(-?0(?:\.0+)?)[eE]\+?\d{9,}/n

  def difference(text, ours, theirs)
    plain = text.b.gsub(HUGE_ZERO, '\1e0').force_encoding("UTF-8")
    return :zero if plain != text && alike?(ours, attempt { JSON.parse(plain) })
    return unless ours.is_a?(CODEC::ParseError) && !theirs.is_a?(StandardError)

    :invalid_utf8 if ours.message.include?("UTF-8") && !text.valid_encoding?
  end

  def alike?(one, other)
    return one.class == other.class if one.is_a?(StandardError) || other.is_a?(StandardError)

    one.eql?(other)
  end

  def attempt
    yield
  rescue JSON::ParserError, Guildhall::DecodeError => error
    error
  end

  def failure(text, ours, theirs)
    "SEED=#{SEED}: #{text.inspect}\nours: #{ours.inspect[0, 500]}\ntheirs: #{theirs.inspect[0, 500]}"
  end
end
