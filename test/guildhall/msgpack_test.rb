# frozen_string_literal: true

require "test_helper"
require "guildhall/msgpack"
require "msgpack"

class MessagePackTest < GuildhallTest
  Codec = Guildhall::MessagePack
  # Around every change of form: fix, 8, 16, 32, 64 bits.
  INTEGERS = [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2**31, (2**32) - 1, 2**32, 2**62, 2**63, (2**64) - 1,
              -1, -32, -33, -128, -129, -32_768, -32_769, -2**31, -2**31 - 1, -2**62 - 1, -2**63].freeze
  LENGTHS = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536].freeze

  def test_one_option_by_two_names
    assert_raises(Guildhall::ArgumentError) { Guildhall::MessagePack.new(symbolize_keys: true, symbolize_names: false) }
  end

  def test_writes_what_the_gem_writes_and_reads_it_back
    values = [nil, true, false, *INTEGERS, 1.5, -0.0, Float::INFINITY, :symbol, *LENGTHS.map { "x" * it },
              *LENGTHS.map { ("x" * it).b }, *LENGTHS.map { Array.new(it, 7) },
              *LENGTHS.map { Array.new(it) { |key| [key, nil] }.to_h }, {"a" => [1, {2 => "größer"}], nil => []}]
    values.each do |value|
      bytes = Codec.encode(value)
      assert_equal MessagePack.pack(value), bytes
      assert_equal Encoding::BINARY, bytes.encoding
      assert_operator Codec.decode(bytes), :==, value.is_a?(Symbol) ? value.name : value
    end
  end

  def test_text_in_other_encodings_travels_as_utf8
    assert_equal "größer", Codec.decode(Codec.encode("größer".encode(Encoding::ISO_8859_1)))
  end

  def test_what_is_decoded_is_frozen_and_shareable
    value = Codec.decode(MessagePack.pack({"a" => ["b", 1.25, (2**64) - 1, {"c" => "d".b}], 3 => "größer"}))
    assert Ractor.shareable?(value)
    assert_predicate value["a"][0], :frozen?
    assert_equal [Encoding::UTF_8, Encoding::BINARY], [value["a"][0].encoding, value["a"][3]["c"].encoding]
  end

  def test_an_unfrozen_payload_stays_as_it_is
    bytes = +"\x81\xA1a\x01".b
    assert_equal({"a" => 1}, Codec.decode(bytes))
    refute_predicate bytes, :frozen?
  end

  def test_narrow_floats
    assert_in_delta 1.5, Codec.decode("\xCA\x3F\xC0\x00\x00".b)
  end

  def test_errors_say_where
    error = assert_raises(Guildhall::DecodeError) { Codec.decode("\x81\xA4user\x82\xA5roles\x92\x01\xC1".b) }
    assert_equal ["MessagePack", 15, "$.user.roles[1]"], [error.codec, error.offset, error.path]
    assert_operator error.excerpt.length, :<=, 40
    assert_predicate error.excerpt, :ascii_only?
    assert_match(/0xc1 .* at byte 15/, error.message)
  end

  def test_broken_payloads
    {
      "" => /input is empty/, "\xC1" => /0xc1/, "\x01\x02" => /after the end/, "\xA5ab" => /unexpected end/,
      "\xDD\xFF\xFF\xFF\xFF" => /more elements/, "\xDF\xFF\xFF\xFF\xFF\x01" => /more elements/, "\xC6\xFF\xFF\xFF\xFF" => /unexpected end/,
      "\xD4\x05\x00" => /not registered/, "\xC7\x05\xFF12345" => /timestamp/, "\xD7\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF" => /timestamp/
    }.each do |bytes, message|
      error = assert_raises(Guildhall::DecodeError, bytes.inspect) { Codec.decode(bytes.b) }
      assert_match message, error.message
      error = assert_raises(Guildhall::DecodeError, bytes.inspect) { Codec.document(bytes.b) }
      assert_match message, error.message
    end
  end

  def test_nesting_ends_at_the_limit
    nested = ->(depth) { ("\x91".b * depth) + "\xC0".b }
    assert_equal(128, Codec.decode(nested[128]).flatten(0).then { depth(it) })
    assert_match(/max_nesting/, assert_raises(Guildhall::DecodeError) { Codec.decode(nested[129]) }.message)
    assert_match(/max_nesting/, assert_raises(Guildhall::DecodeError) { Codec.decode(nested[1_000_000]) }.message)
    assert_raises(Guildhall::DecodeError) { Codec.new(max_nesting: 3).decode(nested[4]) }
    assert_equal 512, depth(Codec.new(max_nesting: 512).decode(nested[512]))
  end

  def test_long_payloads_are_refused
    assert_match(/max_bytes/, assert_raises(Guildhall::DecodeError) { Codec.new(max_bytes: 3).decode("\xA3abc".b) }.message)
  end

  def test_what_contains_itself_cannot_be_encoded
    list = []
    list << list
    assert_match(/within itself/, assert_raises(Guildhall::EncodeError) { Codec.encode(list) }.message)
  end

  def test_what_has_no_form_cannot_be_encoded
    [Object.new, 2**64, -2**63 - 1, 1r, Class].each { |object| assert_raises(Guildhall::EncodeError) { Codec.encode([object]) } }
  end

  def test_types_of_extensions_are_numbers_of_a_byte
    codec = Codec.new(allow_unknown_ext: true)
    [128, -129, 300].each { |type| assert_raises(Guildhall::EncodeError) { codec.encode(Codec::Extension.new(type, "x")) } }
    assert_equal "\xD4\x80x".b, codec.encode(Codec::Extension.new(-128, "x"))
  end

  def test_symbol_keys
    codec = Codec.new(symbolize_keys: true)
    assert_equal({a: {b: "b"}, 1 => "c"}, codec.decode(MessagePack.pack({"a" => {"b" => "b"}, 1 => "c"})))
    assert_raises(Guildhall::DecodeError) { codec.decode("\x81\xA1\xFF\x01".b) }
  end

  def test_invalid_utf8_by_option
    bytes = "\xA2a\xFF".b
    refute_predicate Codec.decode(bytes), :valid_encoding?
    error = assert_raises(Guildhall::DecodeError) { Codec.new(allow_invalid_utf8: false).decode("\x81\xA1k".b + bytes) }
    assert_equal "$.k", error.path
    assert_raises(Guildhall::DecodeError) { Codec.new(allow_invalid_utf8: false).decode("\x81\xA1\xFF\x01".b) }
  end

  # As the other codecs call it, and as the gem does.
  def test_symbolize_names
    bytes = Codec.encode({"a" => {"b" => 1}})
    %i[symbolize_names symbolize_keys].each { |name| assert_equal({a: {b: 1}}, Codec.new(name => true).decode(bytes)) }
  end

  def test_every_wrong_option_is_named
    error = assert_raises(Guildhall::ArgumentError) { Codec.new(symbolize_keys: 1, max_nesting: 0, nope: 2, types: [1]) }
    assert_match(/symbolize_keys.*max_nesting.*nope.*ExtensionTypes/, error.message)
  end

  def test_codecs_are_frozen_and_shareable
    codec = Codec.new(symbolize_keys: true)
    [codec, codec.lazy, Codec.lazy, Codec].each { assert Ractor.shareable?(it) }
    assert_same codec, codec.dup
    assert_equal({"a" => 1}, Codec.call("\x81\xA1a\x01".b))
  end

  # What a codec writes, it reads.
  def test_what_could_not_be_read_is_not_written
    latin = "é".encode("ISO-8859-1")
    {{a: 1, "a" => 2} => "two keys", {"é" => 1, latin => 2} => "two keys", {[:a] => 1, ["a"] => 2} => "two keys", Time.utc(10**12) => "do not fit 64 bits",
     Codec::Extension.new(-1, "abc") => "no valid timestamp", Codec::Extension.new(-1, "x" * 13) => "no valid timestamp",
     Codec::Extension.new(5, "x") => "allow_unknown_ext: true writes it"}.each do |value, message|
      assert_includes assert_raises(Guildhall::EncodeError, value.inspect) { Codec.encode(value) }.message, message
    end
    {{allow_invalid_utf8: false} => "\xff", {symbolize_names: true} => {"\xff" => 1}, {max_bytes: 2} => "ab"}.each do |options, value|
      assert_raises(Guildhall::EncodeError, options.to_s) { Codec.new(**options).encode(value) }
    end
    assert_equal({"a" => 1, 1 => 2, nil => 3, "é" => 4}, Codec.decode(Codec.encode({a: 1, 1 => 2, nil => 3, latin => 4})))
    assert_equal "\xff", Codec.decode(Codec.encode("\xff"))
    assert_equal Time.at(1, 333_333_333, :nsec), Codec.decode(Codec.encode(Time.at(4r / 3))), "to the nanosecond"
  end

  private

  def depth(value) = value.is_a?(Array) ? 1 + depth(value[0]) : 0
end
