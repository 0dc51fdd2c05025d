# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/avro"

# Each logical type: what is in the bytes, decoded and encoded, is the same bytes; a value, encoded and decoded, is the same value.
# SEED=n and COUNT=n in the environment choose the run.
class AvroRoundTripTest < GuildhallTest
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
  COUNT = Integer(ENV.fetch("COUNT", 300))
  INTS = [0, 1, -1, 86_399_999, 86_400_000, (2**31) - 1, -2**31].freeze
  LONGS = [*INTS, 86_399_999_999, 86_400_000_000, 2**53, -2**53, (2**62) - 1, 2**62, -2**62, -(2**62) - 1, (2**63) - 1, -2**63, (-2**63) + 1].freeze
  UUID = "01234567-89ab-cdef-0123-456789abcdef"
  TimeOfDay = Guildhall::Avro::TimeOfDay
  Duration = Guildhall::Avro::Duration

  # As Avro writes it, without zeros in front.
  def self.unscaled(number)
    bytes = (number.bit_length / 8) + 1
    [(number & ((1 << (8 * bytes)) - 1)).to_s(16).rjust(2 * bytes, "0")].pack("H*")
  end

  def self.long(number) = Guildhall::Avro.new("long").encode(number)
  def self.int(random) = [INTS.sample(random:), random.rand(-(2**31)...(2**31)), random.rand(-100..90_000_000)].sample(random:)
  def self.whole(random) = [LONGS.sample(random:), random.rand(-(2**63)...(2**63)), random.rand(-100..90_000_000_000)].sample(random:)
  def self.digits(random, most) = random.rand(-(10**random.rand(1..most))..(10**random.rand(1..most))).clamp((-10**most) + 1, (10**most) - 1)

  # Of each type: its schema, what may be in its bytes (in the form in which it is written), and its values.
  TYPES = {
    "date" => ["int", method(:int), ->(random) { Date.new(1970, 1, 1) + int(random) }],
    "time-millis" => ["int", method(:int), ->(random) { TimeOfDay.new(random.rand(86_400_000) * 1_000_000) }],
    "time-micros" => ["long", method(:whole), ->(random) { TimeOfDay.new(random.rand(86_400_000_000) * 1_000) }],
    **%w[timestamp local-timestamp].product(%w[millis micros nanos].zip([1_000, 1_000_000, 1_000_000_000])).to_h do |kind, (unit, units)|
      ["#{kind}-#{unit}", ["long", method(:whole), ->(random) { Time.at(Rational(whole(random), units)).utc }]]
    end,
    "decimal" => [{type: "bytes", precision: 30, scale: 7}, ->(random) { [unscaled(digits(random, 30)), "".b, ("\x7F" * 2_000).b].sample(random:) },
                  ->(random) { BigDecimal(digits(random, 30)) / 10**7 }],
    "decimal of fixed bytes" => [{type: "fixed", name: "D", size: 9, precision: 20, scale: 3}, ->(random) { [(digits(random, 20) & ((1 << 72) - 1)).to_s(16).rjust(18, "0")].pack("H*") },
                                 ->(random) { BigDecimal(digits(random, 20)) / 1_000 }],
    "big-decimal" => ["bytes", lambda { |random|
      number = digits(random, 60)
      number += 1 if (number % 10).zero? # zeros at the end are not kept
      number.zero? ? "\x02\x00\x00".b : [long((bytes = unscaled(number)).bytesize), bytes, long([-1_000_000, 1_000_000, random.rand(-99..99)].sample(random:))].join
    }, ->(random) { BigDecimal(digits(random, 40)).mult(BigDecimal("1e#{[-900_000, 999_999, 0, random.rand(-50..50)].sample(random:)}"), 0) }],
    "uuid" => ["string", ->(random) { [UUID, UUID.upcase, UUID.delete("-"), "", "größe", random.hex(16)].sample(random:) }, ->(random) { [UUID, random.uuid].sample(random:) }],
    "uuid of fixed bytes" => [{type: "fixed", name: "U", size: 16}, ->(random) { ["\0" * 16, random.bytes(16)].sample(random:).b }, ->(random) { random.uuid }],
    "duration" => [{type: "fixed", name: "P", size: 12}, ->(random) { ["\0" * 12, "\xFF" * 12, random.bytes(12)].sample(random:).b },
                   ->(random) { Duration.new(*Array.new(3) { [0, (2**32) - 1, random.rand(2**32)].sample(random:) }) }]
  }.freeze

  TYPES.each do |name, (base, raw, value)|
    type = {**(base.is_a?(Hash) ? base : {type: base}), logicalType: name[/\S+/]}

    define_method(:"test_bytes_of_#{name.tr(" -", "__")}") do
      schema = {type: "array", items: type}
      plain = Guildhall::Avro.new(schema, logical_types: false)
      payloads = [COUNT, *[1] * 20].map { |count| plain.encode(Array.new(count) { raw.call(random) }) }
      codec = Guildhall::Avro.new(schema)
      payloads.each { |bytes| assert_round_trip(codec, bytes) }
    end

    define_method(:"test_values_of_#{name.tr(" -", "__")}") do
      codec = Guildhall::Avro.new({type: "array", items: ["null", type]})
      values = Array.new(COUNT) { value.call(random) }
      bytes = codec.encode(values)
      assert_equal values, codec.decode(bytes), seed
      assert_equal values, codec.document(bytes).to_a, seed
      assert_equal values.map(&:class), codec.decode(bytes).map(&:class), seed
      assert_round_trip(codec, bytes)
    end
  end

  # Each of them is of one type: nothing is found for what no test is made of.
  def test_every_logical_type_is_tried
    assert_equal Guildhall::Avro::Logical::NAMES.sort, TYPES.keys.map { |name| name[/\S+/] }.uniq.sort
  end

  # They are one value, and written in one form.
  def test_numbers_in_another_form
    decimal = Guildhall::Avro.new({type: "bytes", logicalType: "decimal", precision: 4, scale: 2})
    assert_equal [BigDecimal("0.01"), "\x02\x01".b], decimal.decode("\x06\x00\x00\x01".b).then { [it, decimal.encode(it)] }
    big = Guildhall::Avro.new({type: "bytes", logicalType: "big-decimal"})
    assert_equal [BigDecimal("1.2"), "\x06\x02\x0C\x02".b], big.decode("\x06\x02\x78\x04".b).then { [it, big.encode(it)] }
    tens = [self.class.long(1), self.class.unscaled(10), self.class.long(-1_000_000)].join
    assert_equal big.decode(self.class.long(tens.bytesize) + tens), big.decode(big.encode(big.decode(self.class.long(tens.bytesize) + tens)))
  end

  private

  def random = @random ||= Random.new(SEED)
  def seed = "SEED=#{SEED}"

  def assert_round_trip(codec, bytes)
    decoded = codec.decode(bytes)
    assert Ractor.shareable?(decoded)
    assert_equal bytes, codec.encode(decoded), seed
    document = codec.document(bytes)
    assert_equal decoded, document.to_a, seed
    assert_equal bytes, codec.encode(document), seed
  end
end
