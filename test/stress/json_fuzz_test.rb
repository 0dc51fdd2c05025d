# frozen_string_literal: true

require "guildhall/json"
require "json"
require "tmpdir"
require_relative "../support/webhooks"
require_relative "../support/json_values"

# Mutated real payloads: the reader in C under the sanitizers, and the codec beside the json gem. SEED= repeats a run,
# ROUNDS= makes it longer.
class JSONFuzzTest < GuildhallTest
  ROOT = File.expand_path("../..", __dir__)
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  CODEC = Guildhall::JSON
  # The gem accepts these and we do not, or the other way round: docs/json.md lists why.
  SPLICES = ["\"", "\\", "\\u", "\\ud800", "[", "]", "{", "}", ",", ":", "\xFF", "\xE2\x82", "0", "-", "1e", ".5", "NaN", "true",
             "\"a\":1,\"a\":2", "[[[[[[[[", "99999999999999999999", " ", "\n", "\u0001", "//", "e400", "/* */"].map(&:b).freeze

  # Each of the reader's paths: without vectors, with those of every processor, with the widest of this one.
  def test_sanitizers
    Dir.mktmpdir do |folder|
      program = build(folder)
      corpus = File.join(folder, "corpus")
      File.binwrite(corpus, texts.join("\n"))
      %w[none base best].each do |level|
        out, err, status = run_command([program, SEED.to_s, (ROUNDS * 5).to_s, corpus], timeout: 1800, env: {"UBSAN_OPTIONS" => "halt_on_error=1", "GUILDHALL_SIMD" => level})
        assert_predicate status, :success?, "SEED=#{SEED} #{level}\n#{out}\n#{err[0, 4000]}"
      end
    end
  end

  def test_verdicts_and_values_are_the_gems
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

  def texts
    @texts ||= Webhooks.texts.select { |text| text.bytesize < 6_000 } + JSONValues.new(seed: SEED).then { |values| Array.new(300) { JSON.generate(values.any) } }
  end

  def build(folder)
    program = File.join(folder, "json_fuzz")
    source = File.join(ROOT, "ext/guildhall")
    files = Dir[File.join(source, "json/json_{parse*,scratch,duplicates,tape,number,big,index,locate,shortest,source,split,status}.c"), File.join(source, "{utf8*,simd}.c")]
    out, err, status = run_command(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
                                    "-I#{source}", File.join(__dir__, "json_fuzz.c"), *files, "-lpthread", "-lm", "-o", program])
    assert_predicate status, :success?, "#{out}\n#{err}"
    program
  end

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
