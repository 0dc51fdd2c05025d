# frozen_string_literal: true

require "test_helper"
require "guildhall/msgpack"
require "msgpack"

class MessagePackExtensionTypeTest < GuildhallTest
  Codec = Guildhall::MessagePack
  Money = Struct.new(:cents)
  class Coin < Money
  end
  PACK = ->(money) { [money.cents].pack("q>") }
  UNPACK = ->(bytes) { Money.new(bytes.unpack1("q>")) }
  MONEY = Codec::ExtensionType.new(5, for: Money, pack: PACK, unpack: UNPACK)
  SYMBOL = Codec::ExtensionType.new(0, for: Symbol, pack: :name.to_proc, unpack: :to_sym.to_proc)
  # Defined here because Ruby 3.4 keeps a block's self, which has to be shareable.
  OWN_TIME = Codec::ExtensionType.new(-1, for: Time, pack: ->(time) { time.to_i.to_s }, unpack: :to_i.to_proc)
  RAISING = Codec::ExtensionType.new(1, for: Money, pack: ->(_) { raise KeyError, "pack" }, unpack: ->(_) { raise KeyError, "unpack" })
  NESTED = Codec::ExtensionType.new(2, for: Money, pack: ->(money) { Codec.encode({"cents" => money.cents}) },
    unpack: ->(bytes) { Money.new(Codec.decode(bytes)["cents"]) })
  TIMES = [Time.at(0), Time.at((2**32) - 1), Time.at(2**32), Time.at(1, 5, :nanosecond), Time.at((2**34) - 1, 999_999_999, :nanosecond),
           Time.at(2**34), Time.at(-1), Time.at(-5, 7, :nanosecond)].freeze

  def test_objects_travel_as_their_class_says
    codec = Codec.new(types: [MONEY])
    value = codec.decode(codec.encode({"a" => [Money.new(7), Coin.new(8)]}))
    assert_equal [Money.new(7), Money.new(8)], value["a"]
    assert Ractor.shareable?(value)
    assert Ractor.shareable?(codec)
  end

  def test_is_what_the_gem_does
    factory = MessagePack::Factory.new
    factory.register_type(5, Money, packer: PACK, unpacker: UNPACK)
    factory.register_type(0, Symbol)
    codec = Codec.new(types: [MONEY, SYMBOL])
    value = [Money.new(-3), :name, {key: Money.new(1)}]
    assert_equal factory.dump(value), codec.encode(value)
    assert_equal factory.load(codec.encode(value)), codec.decode(codec.encode(value))
  end

  def test_payloads_of_every_length
    codec = Codec.new(allow_unknown_ext: true)
    [0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 65_536].each do |length|
      extension = Codec::Extension.new(9, "x".b * length)
      bytes = codec.encode(extension)
      assert_equal MessagePack.pack(MessagePack::ExtensionValue.new(9, "x" * length)), bytes
      assert_equal bytes, codec.encode(MessagePack::ExtensionValue.new(9, "x" * length))
      assert_equal extension, codec.decode(bytes)
      assert_includes assert_raises(Guildhall::EncodeError) { Codec.encode(extension) }.message, "allow_unknown_ext: true writes it"
    end
  end

  def test_timestamps_are_the_gems
    factory = MessagePack::Factory.new
    factory.register_type(-1, Time, packer: MessagePack::Time::Packer, unpacker: MessagePack::Time::Unpacker)
    TIMES.each do |time|
      assert_equal factory.dump(time), Codec.encode(time)
      decoded = Codec.decode(Codec.encode(time))
      assert_equal [time, true, true], [decoded, decoded.utc?, Ractor.shareable?(decoded)]
    end
  end

  def test_timestamps_beside_other_types
    codec = Codec.new(types: [MONEY])
    TIMES.each { |time| assert_equal time, codec.decode(codec.encode(time)) }
  end

  def test_timestamps_of_ones_own
    codec = Codec.new(types: [OWN_TIME])
    assert_equal 77, codec.decode(codec.encode(Time.at(77)))
  end

  def test_what_a_type_raises_reaches_the_caller
    codec = Codec.new(types: [RAISING])
    assert_raises(KeyError) { codec.encode([Money.new(1)]) }
    assert_raises(KeyError) { codec.decode("\x91\xD4\x01\x00".b) }
    assert_raises(KeyError) { codec.document("\x91\xD4\x01\x00".b)[0] }
  end

  def test_types_that_use_the_codec_themselves
    codec = Codec.new(types: [NESTED])
    value = Array.new(300) { Money.new(it) }
    assert_equal value, codec.decode(codec.encode(value))
  end

  def test_wrong_types_are_refused
    assert_raises(Guildhall::ArgumentError) { Codec::ExtensionType.new(128, for: Money, pack: PACK, unpack: UNPACK) }
    assert_raises(Guildhall::ArgumentError) { Codec::ExtensionType.new(1, for: "Money", pack: PACK, unpack: UNPACK) }
    assert_raises(Guildhall::ArgumentError) { Codec.new(types: [MONEY, MONEY]) }
  end

  # Takes away what stands in the Hash around it.
  module Thief
    def self.call(money) = money.cents.delete(:b).to_s
  end

  def test_a_hash_that_is_changed_while_it_is_written
    codec = Codec.new(types: [Codec::ExtensionType.new(1, for: Money, pack: Thief, unpack: :to_i.to_proc)])
    hash = {a: Money.new, b: 1}
    hash[:a].cents = hash
    assert_includes assert_raises(Guildhall::EncodeError) { codec.encode(hash) }.message, "changed"
  end

  def test_pack_and_unpack_can_be_called
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::MessagePack::ExtensionType.new(1, for: Date, pack: :iso8601, unpack: 1) }
    assert_match(/`call`/, error.message)
  end
end
