# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/schema"
require "support/schema_in_rust"
require_relative "../../benchmark/data/events"

# Real payloads, mutated byte by byte: what still is JSON gets the same verdict from the walk over the Document, the walk
# over the value, and another implementation. Run under sanitizers, it is also a test of memory safety.
class SchemaMutationTest < GuildhallTest
  ROUNDS = Integer(ENV.fetch("ROUNDS", 50_000))
  SPLICES = ["null", "true", "1", "-0.5", "1e400", '"x"', "[]", "{}", "\\u0000", "\\ud83d\\ude00", "é", "2024-02-30T00:00:00Z", "%zz",
             "://", "{+a}"].freeze

  def setup = SchemaInRust::THERE || skip("jsonschema_rs does not build on this Ruby")

  def test_mutated_payloads
    seed = Integer(ENV.fetch("SEED", Random.new_seed))
    puts "schema mutations: SEED=#{seed} ROUNDS=#{ROUNDS}"
    random = Random.new(seed)
    load_events
    parsed = ROUNDS.times.count { |round| check(random, round) }
    assert_operator parsed, :>, ROUNDS / 20
  end

  private

  def check(random, round)
    name, text = @payloads.sample(random:)
    mutated = mutate(text, random)
    document = Guildhall::JSON.document(mutated)
    return false unless document.is_a?(Guildhall::JSON::Document)

    value = document.decode
    verdict = @ours[name].valid?(document)
    assert_equal verdict, @ours[name].valid?(value), -> { "round #{round}: the value\n#{mutated}" }
    assert_equal verdict, @ours[name].error(document).nil?, -> { "round #{round}: errors\n#{mutated}" }
    assert_equal @theirs[name].valid?(value), verdict, -> { "round #{round}\n#{mutated}" } if comparable?(mutated)
    true
  rescue Guildhall::DecodeError
    false
  end

  # What the other one reads differently: numbers that no double holds, addresses beside RFC 3986 …
  ODD = /\d[eE]\+?\d{3}|\\u0000|%|[{}]\w*\+|é|😀/
  # … and times, where it takes what stands before the digits in ASCII for a digit ("2022-06-0,T17:19:35Z").
  TIME = /"([^"]{4}-[^"]{2}-[^"]{2}[Tt][^"]{2}:[^"]{2}:[^"]{2})([^"]*)"/

  def comparable?(text)
    !text.match?(ODD) && text.scan(TIME).none? { |time, rest| time.count("*+,./-") > 2 || rest.match?(%r{[*,/]|[+-].*[+.-]}) }
  end

  def mutate(text, random)
    bytes = text.dup
    random.rand(1..3).times { mutate_once(bytes, random) }
    bytes.force_encoding(Encoding::UTF_8).freeze
  end

  def mutate_once(bytes, random)
    at = random.rand(bytes.bytesize)
    case random.rand(4)
    when 0 then bytes.setbyte(at, random.rand(32..126))
    when 1 then bytes.bytesplice(at, [random.rand(1..4), bytes.bytesize - at].min, "")
    when 2 then bytes.bytesplice(at, 0, bytes.byteslice(at, random.rand(1..20)))
    else splice(bytes, random)
    end
  rescue IndexError, ArgumentError
    nil # in the middle of a character, or beside a half of one
  end

  # In place of a whole scalar, so that more of what comes out is JSON.
  def splice(bytes, random)
    found = bytes.enum_for(:scan, /(?<=:)(?:null|true|false|-?\d+|"(?:[^"\\]|\\.)*")/).map do
      [Regexp.last_match.byteoffset(0), Regexp.last_match[0]]
    end.sample(random:)
    return if found.nil?

    (first, last), scalar = found
    piece = SPLICES.sample(random:)
    piece = "#{scalar[0...-1]}#{piece}\"" if scalar.start_with?('"') && random.rand(2).zero? && !piece.include?('"')
    bytes.bytesplice(first, last - first, piece)
  end

  def load_events
    events = Events.new
    names = events.by_event { |name| name }
    schema = Guildhall::Schema.new(events.schema)
    @payloads = names.zip(events.texts)
    @ours = names.uniq.to_h { |name| [name, schema.validator(at: "#/definitions/#{name}")] }
    @theirs = names.uniq.to_h { |name| [name, JSONSchema.validator_for(events.schema(name), validate_formats: true)] }
  end
end
