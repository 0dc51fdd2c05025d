# frozen_string_literal: true

require "test_helper"
require "support/mutator"
require "guildhall/msgpack"
require "msgpack"

# Mutated payloads: no crash, the gem's verdict, and its value where both accept. SEED=n and COUNT=n in the environment
# choose the run; the seed is printed when something is wrong.
class MessagePackFuzzTest < GuildhallTest
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  COUNT = Integer(ENV.fetch("COUNT", 20_000))
  CODEC = Guildhall::MessagePack.new(allow_unknown_ext: true)

  def test_mutated_payloads_decode_as_with_the_gem
    puts "MessagePack beside the gem: SEED=#{SEED} COUNT=#{COUNT}"
    mutator = Mutator.new(SEED, payloads)
    COUNT.times { check(mutator.next) }
  end

  def test_generated_values_make_the_round_trip
    random = Random.new(SEED)
    2_000.times do
      value = Generated.value(random)
      bytes = Guildhall::MessagePack.encode(value)
      assert_equal MessagePack.pack(value), bytes, "seed #{SEED}"
      assert same?(value, Guildhall::MessagePack.decode(bytes)), "seed #{SEED}: #{value.inspect}"
    end
  end

  private

  # The gem takes invalid UTF-8 as Symbols no better than we do, so keys stay Strings here.
  def check(bytes)
    ours = attempt { CODEC.decode(bytes) }
    lazy = attempt { CODEC.document(bytes) }
    theirs = attempt { gem_decode(bytes) }
    where = -> { "seed #{SEED}: #{bytes.unpack1("H*")}" }
    assert_equal ours[0], lazy[0], where
    return if ours[0] != theirs[0] && listed?(bytes, ours, theirs)

    assert_equal theirs[0], ours[0], -> { "#{where.call}: #{theirs[1].inspect} #{ours[1].inspect}" }
    return unless ours[0]

    assert same?(theirs[1], ours[1]), -> { "#{where.call}: #{theirs[1].inspect} #{ours[1].inspect}" }
    assert_document(lazy[1], ours[1], where)
    assert Ractor.shareable?(ours[1]), where
  end

  def assert_document(document, value, where)
    document = document.decode if document.is_a?(Guildhall::MessagePack::Document)
    assert same?(document, value), where
  end

  # What is decided otherwise than in the gem: nanoseconds beyond a second, and a timestamp's size.
  def listed?(_bytes, ours, theirs)
    theirs[0] && ours[1].is_a?(Guildhall::DecodeError) && ours[1].message.include?("invalid timestamp")
  end

  def attempt
    [true, yield]
  rescue Guildhall::DecodeError, MessagePack::UnpackError, EOFError, RangeError, ArgumentError => error
    [false, error]
  end

  def gem_decode(bytes)
    factory = MessagePack::Factory.new
    factory.register_type(-1, Time, packer: MessagePack::Time::Packer, unpacker: MessagePack::Time::Unpacker)
    factory.unpack(bytes, allow_unknown_ext: true)
  end

  # Bit for bit, so that NaN equals itself and -0.0 is not 0.0; the gem's extension values are ours.
  def same?(left, right)
    case left
    when Float then right.is_a?(Float) && [left].pack("G") == [right].pack("G")
    when String then right.is_a?(String) && left.b == right.b && left.encoding == right.encoding
    when Array then right.is_a?(Array) && left.size == right.size && left.zip(right).all? { |a, b| same?(a, b) }
    when Hash then right.is_a?(Hash) && left.size == right.size && same?(left.to_a, right.to_a)
    when MessagePack::ExtensionValue then right == Guildhall::MessagePack::Extension.new(left.type, left.payload)
    else left == right
    end
  end

  def payloads
    random = Random.new(SEED)
    Array.new(50) { MessagePack.pack(Generated.value(random)) } << MessagePack.pack(MessagePack::ExtensionValue.new(-1, [5, 6].pack("NQ>")))
  end
end
