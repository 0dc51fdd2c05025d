# frozen_string_literal: true

require "test_helper"
require "support/mutator"
require "support/avro_gem"
require "guildhall/avro"

# Mutated payloads and generated values, beside the gem avro. SEED=n and COUNT=n in the environment choose the run.
#
# The gem takes much that is no Avro (strings cut off, negative indexes, numbers beyond their type, bytes that are left
# over), and never ends for some: so what we accept, it has to accept with the same value; what we refuse, we refuse
# with a DecodeError.
class AvroFuzzTest < GuildhallTest
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  COUNT = Integer(ENV.fetch("COUNT", 20_000))
  ORDER = AvroGem.parse(AvroSamples::ORDER)
  NEWER = AvroGem.parse(AvroSamples::NEWER)

  def test_generated_values_make_the_round_trip
    codec = Guildhall::Avro.new(ORDER)
    random = Random.new(SEED)
    1_000.times do
      order = AvroSamples.order(random)
      bytes = AvroGem.encode(ORDER, order)
      assert_equal bytes, codec.encode(order), "seed #{SEED}: #{order.inspect}"
      assert_equal AvroGem.decode(ORDER, bytes), codec.decode(bytes), "seed #{SEED}: #{bytes.unpack1("H*")}"
    end
  end

  def test_mutated_payloads
    puts "Avro beside the gem: SEED=#{SEED} COUNT=#{COUNT}"
    accepted = mutate(Guildhall::Avro.new(ORDER), ORDER)
    assert_operator accepted, :>, COUNT / 10, "hardly anything was valid: the test shows nothing"
  end

  def test_mutated_payloads_read_with_another_schema
    mutate(Guildhall::Avro.new(ORDER, reader: NEWER), NEWER)
  end

  private

  def mutate(codec, reader)
    random = Random.new(SEED)
    mutator = Mutator.new(SEED, Array.new(100) { AvroGem.encode(ORDER, AvroSamples.order(random)) })
    Array.new(COUNT) { mutator.next }.count { |bytes| same_value?(codec, reader, bytes) }
  end

  def same_value?(codec, reader, bytes)
    ours = codec.decode(bytes)
    return true if ours["price"] == "" # the gem raises NoMethodError for a decimal of no bytes

    theirs = AvroGem.decode(ORDER, bytes, reader:)
    theirs["id"] = theirs["id"].to_f if reader.equal?(NEWER) # a promoted number stays an Integer with the gem
    assert bits(ours) == bits(theirs), -> { "seed #{SEED}: #{bytes.unpack1("H*")}\n#{ours.inspect}\n#{theirs.inspect}" }
    assert Ractor.shareable?(ours)
    document = codec.document(bytes)
    assert bits(document.to_h) == bits(ours) && document.keys == ours.keys, -> { "seed #{SEED}: Document #{bytes.unpack1("H*")}" }
    true
  rescue Guildhall::DecodeError => error
    refused_as_document?(codec, bytes, error)
  end

  # What a logical type refuses, a Document says when it is asked for it.
  def refused_as_document?(codec, bytes, error)
    codec.document(bytes).to_h
    flunk("seed #{SEED}: a Document takes #{bytes.unpack1("H*")}: #{error.message}")
  rescue Guildhall::DecodeError
    false
  end

  # NaN as something that equals itself; texts and binaries by their bytes.
  def bits(value)
    case value
    when Float then value.nan? ? :nan : value
    when String then value.b
    when Array then value.map { bits(it) }
    when Hash then value.to_h { |key, part| [key.b, bits(part)] }
    else value
    end
  end
end
