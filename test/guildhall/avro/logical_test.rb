# frozen_string_literal: true

require "test_helper"
require "stringio"
require "support/avro_gem"
require "guildhall/avro"
require "guildhall/pool"

class AvroLogicalTest < GuildhallTest
  TIMES = [Time.at(0), Time.at(1_700_000_000, 123_456_789, :nanosecond), Time.at(-1), Time.at(-10**9, 1_000_000, :nanosecond)].freeze

  def test_those_that_the_gem_knows
    {type("int", "date") => [Date.new(1970, 1, 1), Date.new(2400, 2, 29), Date.new(1, 1, 1), 17],
     type("long", "timestamp-millis") => [*TIMES, 5, DateTime.new(2026, 1, 1)],
     type("long", "timestamp-micros") => TIMES, type("long", "timestamp-nanos") => TIMES,
     type("bytes", "decimal", precision: 9, scale: 2) => [0, 1, -1, 1.27, 1.28, -1.28, -1.29, 32_767, -32_768,
                                                          BigDecimal("9999999.99")]}.each do |schema, values|
      codec = Guildhall::Avro.new(schema)
      values.each do |value|
        bytes = AvroGem.encode(schema, value)
        assert_equal bytes, codec.encode(value), "#{schema} #{value}"
        decoded = codec.decode(bytes)
        assert_equal AvroGem.decode(schema, bytes), decoded
        assert_equal AvroGem.decode(schema, bytes).class, decoded.class
        assert Ractor.shareable?(decoded)
      end
    end
  end

  def test_times_of_day
    {"time-millis" => "int", "time-micros" => "long"}.each do |name, base|
      codec = Guildhall::Avro.new(type(base, name))
      value = codec.decode(codec.encode(Guildhall::Avro::TimeOfDay.new(47_279_250_000_000)))
      assert_equal ["13:07:59.250000", 13, 7, 59, 250_000_000], [value.to_s, value.hour, value.minute, value.second, value.nanosecond]
      assert_equal codec.encode(value), codec.encode(Time.utc(2026, 1, 1, 13, 7, 59.25r))
      [86_400_000_000_000, -1_000_000].each do |nanoseconds|
        assert_raises(Guildhall::EncodeError) { codec.encode(Guildhall::Avro::TimeOfDay.new(nanoseconds)) }
      end
    end
  end

  # Each: a type, what is no value of it in the bytes, and what is.
  NO_VALUES = {
    "time-millis" => [{type: "int", logicalType: "time-millis"}, [86_400_000, -1, (2**31) - 1, -2**31],
                      Guildhall::Avro::TimeOfDay.new(86_399_999_000_000)],
    "time-micros" => [{type: "long", logicalType: "time-micros"}, [86_400_000_000, -1, (2**63) - 1, -2**63],
                      Guildhall::Avro::TimeOfDay.new(0)],
    "decimal" => [{type: "bytes", logicalType: "decimal", precision: 4, scale: 2}, ["".b, ("\x7F" * 1_025).b], BigDecimal("1.25")],
    "decimal of no bytes" => [{type: "fixed", name: "D", size: 0, logicalType: "decimal", precision: 4, scale: 2}, ["".b], nil],
    "big-decimal" => [{type: "bytes", logicalType: "big-decimal"},
                      ["", "\x00\x00", "\x02", "\x04\x01", "\x02\x01", "\x02\x01\x02\x00", "\xFF" * 12, "\x02\x01\xFE\xFF\xFF\xFF\x0F"].map(&:b), BigDecimal("1.25")],
    "uuid" => [{type: "string", logicalType: "uuid"}, ["", "0123456789abcdef0123456789abcdef", "no uuid", "größe", "{01234567-89ab-cdef-0123-456789abcdef}"],
               "01234567-89AB-cdef-0123-456789abcdef"]
  }.freeze

  # Eager, lazy, by the pool's native reader, and in files: the field comes without its logical type, and nothing else is lost.
  NO_VALUES.each do |name, (type, numbers, value)|
    define_method(:"test_#{name.tr(" -", "__")}_that_is_none_comes_as_it_is") do
      record = {type: "record", name: "R", fields: [{name: "before", type: "int"}, {name: "v", type:}, {name: "after", type: %w[null string]}]}
      codec = Guildhall::Avro.new(record)
      plain = Guildhall::Avro.new(record, logical_types: false)
      objects = [*numbers, *value].map { |number| {"before" => 5, "v" => number, "after" => "a"} }
      payloads = objects.first(numbers.size).map { |object| plain.encode(object) } + objects.drop(numbers.size).map { |object| codec.encode(object) }
      assert_equal objects, payloads.map { |bytes| codec.decode(bytes) }
      assert_equal payloads, payloads.map { |bytes| codec.encode(codec.decode(bytes)) }
      assert_equal objects, payloads.map { |bytes| codec.document(bytes).to_h }
      assert_equal payloads, payloads.map { |bytes| codec.encode(codec.document(bytes)) }
      assert(payloads.all? { |bytes| Ractor.shareable?(codec.decode(bytes)) && Ractor.shareable?(codec.document(bytes)["v"]) })
      Guildhall::Pool.open(workers: 1) do |pool|
        [codec, codec.lazy].each { |one| assert_equal objects, pool.map(payloads, one, parallel: true).map(&:to_h) }
      end
      file = StringIO.new("".b)
      Guildhall::Avro::Container.write(file, record, objects)
      assert_equal objects, Guildhall::Avro::Container.each(file.string).to_a
    end
  end

  # What is no value of a logical type is another branch's, if that takes it.
  def test_branches_of_what_is_no_value
    codec = Guildhall::Avro.new([type("int", "time-millis"), "long", type("string", "uuid"), {type: "enum", name: "E", symbols: ["A"]}])
    {86_400_000 => 1, -1 => 1, "A" => 3, "B" => 2, "01234567-89ab-cdef-0123-456789abcdef" => 2, Guildhall::Avro::TimeOfDay.new(0) => 0}.each do |value, branch|
      bytes = codec.encode(value)
      assert_equal [branch * 2, value], [bytes.getbyte(0), codec.decode(bytes)]
    end
  end

  def test_branches_that_take_what_is_no_value_without_being_exact
    {[type("int", "time-millis"), "double"] => [-1, 1, -1.0], [type("bytes", "decimal", precision: 4, scale: 2), "string"] => ["".b, 1, ""]}.each do |schema, (value, branch, read)|
      codec = Guildhall::Avro.new(schema)
      bytes = codec.encode(value)
      assert_equal [branch * 2, read], [bytes.getbyte(0), codec.decode(bytes)]
    end
  end

  def test_bytes_that_are_a_number_are_not_written_as_they_are
    codec = Guildhall::Avro.new(type("bytes", "decimal", precision: 4, scale: 2))
    ["\x01".b, "1.2", "", ("x" * 2_000)].each { |value| assert_raises(Guildhall::EncodeError, value) { codec.encode(value) } }
  end

  # The reader calls an int of the writer's a timestamp.
  def test_timestamps_that_were_ints
    codec = Guildhall::Avro.new("int", reader: type("long", "timestamp-millis"))
    assert_equal Time.at(0, -1, :millisecond).utc, codec.decode("\x01".b)
    assert_raises(Guildhall::DecodeError) { codec.decode(Guildhall::Avro.new("long").encode(2**31)) }
  end

  def test_times_that_no_long_has
    %w[timestamp-millis timestamp-micros timestamp-nanos local-timestamp-nanos].each do |name|
      codec = Guildhall::Avro.new(type("long", name))
      [Time.at(2**62), Time.at(-2**62), Time.at(2**80), Time.at(-2**80), 2**63, -(2**63) - 1].each do |time|
        assert_raises(Guildhall::EncodeError, "#{name} #{time.inspect}") { codec.encode(time) }
      end
    end
  end

  def test_numbers_without_an_end
    [Float::INFINITY, Float::NAN, BigDecimal("Infinity"), Complex(1, 1)].each do |value|
      [type("int", "date"), type("long", "timestamp-millis"), type("bytes", "decimal", precision: 9), type("bytes", "big-decimal")].each do |schema|
        assert_raises(Guildhall::EncodeError, "#{schema} #{value}") { Guildhall::Avro.new(schema).encode(value) }
      end
    end
    union = Guildhall::Avro.new([type("long", "timestamp-millis"), "double"])
    assert_equal Float::INFINITY, union.decode(union.encode(Float::INFINITY))
  end

  # Active Support's raises NoMethodError for a nil that to_time returned before.
  def test_texts_are_no_times_though_they_have_to_time
    text = Class.new(String) { def to_time = nil }.new("hello")
    union = Guildhall::Avro.new([type("long", "timestamp-millis"), "string"])
    assert_equal "hello", union.decode(union.encode(text))
    assert_raises(Guildhall::EncodeError) { Guildhall::Avro.new(type("long", "timestamp-millis")).encode(text) }
  end

  def test_defaults_that_their_logical_type_refuses
    reader = {type: "record", name: "R", fields: [{name: "d", type: type("bytes", "decimal", precision: 2), default: ""}]}
    error = assert_raises(Guildhall::SchemaError) { Guildhall::Avro.new({type: "record", name: "R", fields: []}, reader:) }
    assert_match(/default "" is not a valid decimal/, error.message)
  end

  def test_dates_of_datetimes
    codec = Guildhall::Avro.new(type("int", "date"))
    [DateTime.new(1969, 12, 31, 12), DateTime.new(1969, 12, 31, 23, 0, 0, "-05:00"), DateTime.new(2026, 1, 1, 1, 0, 0, "+05:00")].each do |time|
      assert_equal Date.new(time.year, time.month, time.day), codec.decode(codec.encode(time))
    end
  end

  def test_local_timestamps
    {"millis" => 3, "micros" => 6, "nanos" => 9}.each do |unit, digits|
      codec = Guildhall::Avro.new(type("long", "local-timestamp-#{unit}"))
      TIMES.each { |time| assert_equal time.floor(digits).utc, codec.decode(codec.encode(time)) }
    end
  end

  # What the time's own clock shows, wherever the process is.
  def test_local_timestamps_of_other_places
    noon = Time.utc(2026, 3, 1, 12, 0, 0, 123_000)
    there = Class.new { def to_time = Time.at(Time.utc(2026, 3, 1, 10, 0, 0, 123_000), in: "+05:00"); def utc_offset = 7_200 }.new # rubocop:disable Style/Semicolon
    %w[millis micros nanos].each do |unit|
      local = Guildhall::Avro.new(type("long", "local-timestamp-#{unit}"))
      [noon, Time.new(2026, 3, 1, 12, 0, 0.123r, "+02:00"), Time.new(2026, 3, 1, 12, 0, 0.123r, "-11:30"), there,
       DateTime.new(2026, 3, 1, 12, 0, 0.123r, "+02:00")].each do |time|
        assert_equal noon, local.decode(local.encode(time)), "#{unit} #{time.inspect}"
        assert_equal [noon], Guildhall::Avro.new({type: "array", items: type("long", "local-timestamp-#{unit}")}).then { it.document(it.encode([time])).to_a }
      end
      assert_equal Time.utc(2026, 3, 1, 10, 0, 0, 123_000), Guildhall::Avro.new(type("long", "timestamp-#{unit}")).then { it.decode(it.encode(there)) }
    end
  end

  def test_dates_are_their_midnight_in_utc
    codecs = %w[timestamp-millis local-timestamp-millis timestamp-nanos].map { Guildhall::Avro.new(type("long", it)) }
    before = ENV.fetch("TZ", nil)
    %w[America/New_York Asia/Tokyo UTC].each do |zone|
      ENV["TZ"] = zone
      codecs.each { |codec| assert_equal Time.utc(2026, 3, 1), codec.decode(codec.encode(Date.new(2026, 3, 1))), zone }
    end
  ensure
    ENV["TZ"] = before
  end

  def test_uuids
    uuid = "01234567-89ab-cdef-0123-456789abcdef"
    text = Guildhall::Avro.new(type("string", "uuid"))
    assert_equal uuid, text.decode(text.encode(uuid))
    ["no uuid", "", uuid.delete("-"), uuid.upcase, "{#{uuid}}", uuid.encode(Encoding::UTF_16LE)].each { |given| assert_equal given.encode("UTF-8"), text.decode(text.encode(given)) }
    [:uuid, 5, nil].each { |given| assert_raises(Guildhall::EncodeError) { text.encode(given) } }
    bytes = Guildhall::Avro.new(type("fixed", "uuid", name: "U", size: 16))
    assert_equal [17, uuid].drop(1), [bytes.decode(bytes.encode(uuid))]
    assert_equal 16, bytes.encode(uuid).bytesize
  end

  def test_durations
    codec = Guildhall::Avro.new(type("fixed", "duration", name: "D", size: 12))
    value = Guildhall::Avro::Duration.new(months: 1, days: 2, milliseconds: (2**32) - 1)
    assert_equal value, codec.decode(codec.encode(value))
    assert_equal [1, 2, (2**32) - 1].pack("V3"), codec.encode(value)
    assert_raises(Guildhall::EncodeError) { codec.encode(value.with(days: -1)) }
  end

  def test_decimals_in_fixed_bytes
    codec = Guildhall::Avro.new(type("fixed", "decimal", name: "D", size: 4, precision: 9, scale: 2))
    %w[0 1.27 -1.28 -9999999.99].each do |text|
      bytes = codec.encode(BigDecimal(text))
      assert_equal [4, BigDecimal(text)], [bytes.bytesize, codec.decode(bytes)]
    end
  end

  def test_decimals_that_do_not_fit
    codec = Guildhall::Avro.new(type("bytes", "decimal", precision: 4, scale: 2))
    [BigDecimal("100"), BigDecimal("1.234"), "1.2", Float::NAN, Float::INFINITY].each { |value| assert_raises(Guildhall::EncodeError) { codec.encode(value) } }
  end

  # Only what is a whole number of the smallest unit: nothing is rounded.
  def test_decimals_of_rationals
    codec = Guildhall::Avro.new(type("bytes", "decimal", precision: 4, scale: 2))
    {Rational(5, 4) => "1.25", Rational(-9999, 100) => "-99.99", 0r => "0", 3r => "3"}.each do |value, text|
      assert_equal BigDecimal(text), codec.decode(codec.encode(value))
    end
    [Rational(100_001, 100_000), Rational(1, 3), Rational(999_996, 10_000), 100r, -100r, Rational(12_499_999_999, 10_000_000_000)].each do |value|
      assert_raises(Guildhall::EncodeError, value.to_s) { codec.encode(value) }
    end
    fixed = Guildhall::Avro.new(type("fixed", "decimal", name: "D", size: 1, precision: 4, scale: 2))
    assert_equal BigDecimal("1.27"), fixed.decode(fixed.encode(127/100r))
    assert_raises(Guildhall::EncodeError) { fixed.encode(128/100r) }
  end

  def test_decimals_that_bring_their_scale
    codec = Guildhall::Avro.new(type("bytes", "big-decimal"))
    assert_equal "\x06\x02\x7F\x04".b, codec.encode(BigDecimal("1.27"))
    ["0", "1.27", "-1.28", "128", "-129", "1e30", "-1e-30", "12345678901234567890.000000001"].each do |text|
      decoded = codec.decode(codec.encode(BigDecimal(text)))
      assert_equal [BigDecimal(text), BigDecimal], [decoded, decoded.class]
      assert Ractor.shareable?(decoded)
    end
    assert_equal [BigDecimal("7"), BigDecimal("0.5")], [codec.decode(codec.encode(7)), codec.decode(codec.encode(0.5))]
    assert_equal BigDecimal("1200"), codec.decode("\x06\x02\x0C\x03".b) # a scale of -2
    [1r, "1", Float::NAN, BigDecimal("Infinity")].each { |value| assert_raises(Guildhall::EncodeError) { codec.encode(value) } }
  end

  # Megabytes of digits are no number that anybody waits for.
  def test_decimals_of_any_length
    bytes = Guildhall::Avro.new("bytes")
    [type("bytes", "decimal", precision: 4, scale: 2), type("bytes", "big-decimal")].each do |schema|
      assert_equal String, Guildhall::Avro.new(schema).decode(bytes.encode("\x7F" * 8_000_000)).class
    end
    assert_equal BigDecimal("0.01"), Guildhall::Avro.new(type("bytes", "decimal", precision: 4, scale: 2)).decode(bytes.encode("#{"\0" * 1_000}\x01"))
    wide = Guildhall::Avro.new(type("bytes", "decimal", precision: 4_000, scale: 0))
    assert_equal 10**3_999, wide.decode(wide.encode(10**3_999))
  end

  def test_unknown_and_misplaced_ones_count_as_none
    assert_equal 5, Guildhall::Avro.new(type("int", "nope")).decode("\x0a".b)
    assert_equal 5, Guildhall::Avro.new(type("long", "date")).decode("\x0a".b)
    assert_equal "ab", Guildhall::Avro.new(type("fixed", "duration", name: "D", size: 2)).decode("ab".b)
  end

  def test_can_be_left_out
    assert_equal 5, Guildhall::Avro.new(type("int", "date"), logical_types: false).decode("\x0a".b)
    of_gem = Guildhall::Avro::Logical::OF_GEM
    assert_equal Date.new(1970, 1, 6), Guildhall::Avro.new(type("int", "date"), logical_types: of_gem).decode("\x0a".b)
    assert_equal 5, Guildhall::Avro.new(type("int", "time-millis"), logical_types: of_gem).decode("\x0a".b)
    assert_raises(Guildhall::ArgumentError) { Guildhall::Avro.new("int", logical_types: ["nope"]) }
  end

  def test_within_unions
    schema = ["null", type("int", "date"), type("long", "timestamp-millis"), "string"]
    codec = Guildhall::Avro.new(schema)
    [nil, Date.new(2026, 1, 1), Time.at(5), "text"].each { |value| assert_equal value, codec.decode(codec.encode(value)) unless value.nil? }
    assert_equal "\x00".b, codec.encode(nil)
  end

  def test_precision_and_scale_that_are_none
    ["9", 9.5, nil, 0].each { |precision| assert_equal "a", Guildhall::Avro.new(type("bytes", "decimal", precision:, scale: 2)).decode("\x02a") }
    ["2", 1.5, -1, 10].each { |scale| assert_equal "a", Guildhall::Avro.new(type("bytes", "decimal", precision: 9, scale:)).decode("\x02a") }
    error = assert_raises(Guildhall::Avro::SchemaError) { Guildhall::Avro.new(type("bytes", "decimal", precision: 10**9, scale: 10**9)) }
    assert_includes error.message, "10000 are the most"
  end

  private

  def type(base, logical, **rest) = {type: base, logicalType: logical, **rest}
end
