# frozen_string_literal: true

require "bigdecimal"
require "guildhall/json"
require "json"
require "stringio"
require_relative "../support/webhooks"
require_relative "../support/json_values"

class JSONTest < GuildhallTest
  CODEC = Guildhall::JSON

  def test_a_decimal_class_whose_numbers_cannot_be_shared
    assert_raises(Guildhall::ArgumentError) { Guildhall::JSON.new(decimal_class: StringIO) }
  end

  def test_webhooks_are_what_the_gem_reads
    Webhooks.texts.each do |text|
      expected = JSON.parse(text)
      assert_equal expected, CODEC.decode(text)
      assert_equal JSON.generate(expected), JSON.generate(CODEC.decode(text)), "the order of keys"
      assert CODEC.document(text) == expected
      assert_equal expected, CODEC.document(text).decode
    end
  end

  def test_generated_values_are_what_the_gem_reads
    values = JSONValues.new(seed: 11)
    500.times do
      text = JSON.generate(values.any)
      [text, JSON.pretty_generate(JSON.parse(text))].each do |written|
        assert_alike JSON.parse(written), CODEC.decode(written), written
        assert_alike JSON.parse(written, symbolize_names: true), CODEC.new(symbolize_names: true).decode(written), written
      end
    end
  end

  def test_everything_is_frozen_and_shareable
    text = '{"s":"short","l":"' + "long" * 50 + '","é":"é","esc":"\\n","e":"","f":1.5,"h":1e300,"i":1,"b":123456789012345678901234567890,' \
                                                '"n":null,"t":true,"a":[1,[],{}],"o":{"k":"v"}}'
    value = CODEC.decode(text)
    assert_equal JSON.parse(text), value
    everything(value).each do |part|
      assert Ractor.shareable?(part), part.inspect
      assert_predicate part, :frozen?, part.inspect
    end
    assert_raises(FrozenError) { value["s"] << "x" }
    assert_raises(FrozenError) { value["a"] << 1 }
    assert_raises(FrozenError) { value["x"] = 1 }
    assert_raises(FrozenError) { value["l"].instance_variable_set(:@x, 1) }
  end

  def test_strings_know_their_encoding
    ascii, other = CODEC.decode('["plain","größe\\u00e9"]')
    assert_equal [Encoding::UTF_8, Encoding::UTF_8], [ascii.encoding, other.encoding]
    assert_predicate ascii, :ascii_only?
    refute_predicate other, :ascii_only?
    assert_predicate other, :valid_encoding?
    assert_equal "größeé", other
  end

  def test_encodings_of_the_source
    text = '{"a":"é"}'
    assert_equal({"a" => "é"}, CODEC.decode(text.encode("UTF-16LE")))
    assert_equal({"a" => "é"}, CODEC.decode(text.encode("ISO-8859-1")))
    assert_equal({"a" => "é"}, CODEC.decode(text.b))
    assert_equal({"a" => "é"}, CODEC.document(text.b).decode)
  end

  def test_callers_string_is_neither_frozen_nor_kept
    text = +'{"a":"long enough to be kept by reference, if it were kept by reference at all"}'
    document = CODEC.document(text)
    value = CODEC.decode(text)
    refute_predicate text, :frozen?
    text.clear << "[" * 60
    GC.start
    assert_equal "long", document["a"][0, 4]
    assert_equal document.decode, value
  end

  def test_a_string_that_is_not_shareable_is_copied
    text = +'{"a":1}'
    text.instance_variable_set(:@note, Object.new)
    document = CODEC.document(text.freeze)
    assert Ractor.shareable?(document)
    assert_equal 1, document["a"]
  end

  def test_numbers
    {"0" => 0, "-0" => 0, "-0.0" => -0.0, "1E5" => 100_000.0, "12345678" => 12_345_678, "123456789" => 123_456_789,
     "-99999999999999999" => -99_999_999_999_999_999, "576460752303423488" => 2**59, "9223372036854775807" => 2**63 - 1,
     "18446744073709551616" => 2**64, "1e400" => Float::INFINITY, "-1e400" => -Float::INFINITY, "1e-400" => 0.0,
     "0.1" => 0.1, "5e-324" => 5e-324, "2.2250738585072011e-308" => 2.2250738585072011e-308,
     "1#{"0" * 400}" => 10**400, "0.#{"0" * 400}1e401" => 1.0, "1e99999999999999999999" => Float::INFINITY}.each do |text, expected|
      ["[#{text}]", "[#{text}          ]", "{\"n\":#{text}}"].each do |document|
        assert_same_number expected, CODEC.decode(document).then { |value| value.is_a?(Hash) ? value["n"] : value.first }, document
      end
      assert_same_number expected, CODEC.decode(text), text
    end
  end

  # Every double is read back from 17 digits and from the middle of two doubles exactly.
  def test_floats_are_correctly_rounded
    random = Random.new(3)
    2_000.times do
      float = [random.rand(2**64)].pack("Q").unpack1("D")
      next unless float.finite? && float.next_float.finite?

      assert_same_number float, CODEC.decode(format("[%.17g]", float).sub(/\A\[(-?\d+)\]\z/, '[\1.0]')).first
      half_way(float) { |text, expected| assert_same_number expected, CODEC.decode(text), text }
    end
  end

  def test_options
    assert_equal({a: [{b: 1}]}, CODEC.new(symbolize_names: true).decode('{"a":[{"b":1}]}'))
    assert_equal [1, 2], CODEC.new(allow_trailing_comma: true).decode("[1,2,]")
    assert_equal({"a" => 1}, CODEC.new(allow_trailing_comma: true).decode('{"a":1,}'))
    assert_equal "a\tb", CODEC.new(allow_control_characters: true).decode("\"a\tb\"")
    assert_equal "\xFF", CODEC.new(allow_invalid_utf8: true).decode("\"\xFF\"")
    nan, *infinite = CODEC.new(allow_nan: true).decode("[NaN,Infinity,-Infinity]")
    assert_predicate nan, :nan?
    assert_equal [Float::INFINITY, -Float::INFINITY], infinite
  end

  def test_duplicate_keys
    assert_equal '$.a["\u0078"]', assert_raises(CODEC::ParseError) { CODEC.decode('{"a":{"x":1,"y":2,"\u0078":3}}') }.path
    last_wins = CODEC.new(allow_duplicate_key: true)
    text = '{"a":{"b":1},"c":[{"z":"q","y":1,"z":{"w":[9]}},{"k":1}],"a":{"b":2},"\u0061":[3,{}],"d":[]}'
    expected = JSON.parse(text, allow_duplicate_key: true)
    assert_equal expected, last_wins.decode(text)
    assert_equal expected.keys, last_wins.decode(text).keys
    assert last_wins.document(text) == expected
    assert_equal expected["c"], last_wins.document(text)["c"].detach.decode
    assert_equal JSON.generate(expected["c"]), last_wins.document(text)["c"].to_json
  end

  # In what is kept and what is dropped, at every level, with and without escapes.
  def test_duplicate_keys_in_what_is_repeated
    random = Random.new(11)
    last_wins = CODEC.new(allow_duplicate_key: true)
    300.times do
      text = "[#{repeating(random, 6)}]"
      expected = JSON.parse(text, allow_duplicate_key: true)
      assert_equal JSON.generate(expected), last_wins.encode(last_wins.decode(text)), text
      assert_equal JSON.generate(expected), JSON.generate(JSON.parse(last_wins.document(text).detach.source)), text
    end
    deep = "#{"{\"a\":[0],\"b\":1,\"a\":" * 5_000}2#{"}" * 5_000}"
    kept = CODEC.new(allow_duplicate_key: true, max_nesting: 5_001).document(deep).detach.source
    assert_equal "#{"{\"a\":" * 5_000}2#{",\"b\":1}" * 5_000}", kept
  end

  # Whatever bytes a key ends in, after objects that have it and whose keys were found to be unique.
  def test_duplicate_keys_with_chosen_ends
    codec = CODEC.new(allow_invalid_utf8: true, allow_control_characters: true)
    (8..40).each do |length|
      tail = [(0x9E3779B97F4A7C15 + length) & ((1 << 64) - 1)].pack("Q<")
      keys = %w[A B].map { |letter| (letter * (length - 8)).b + tail }
      next if keys.uniq.size == 1 || tail.match?(/["\\]/n)

      texts = [[keys[0], keys[1]], [keys[1], keys[0]], [keys[0], keys[0]], [keys[1], keys[1]]].map { |one, other| "{\"".b + one + "\":1,\"".b + other + "\":2}".b }
      2.times { texts.first(2).each { |text| assert_equal 2, codec.decode(text).size } }
      texts.last(2).each { |text| assert_raises(CODEC::ParseError) { codec.decode(text) } }
    end
  end

  # Objects of every width up to far beyond the point where keys are hashed, the duplicate anywhere.
  def test_duplicate_keys_in_wide_objects
    random = Random.new(5)
    [2, 3, 15, 16, 17, 40, 127, 128, 129, 500].each do |width|
      keys = Array.new(width) { |index| "key#{index * 7919}#{"é" if (index % 5).zero?}" }
      unique = JSON.generate(keys.to_h { |key| [key, {"in" => key}] })
      assert_equal JSON.parse(unique), CODEC.decode(unique)
      twice = keys.insert(random.rand(1..width), keys.first).map { |key| "#{key.to_json}:1" }
      assert_raises(CODEC::ParseError) { CODEC.decode("{#{twice.join(",")}}") }
      assert_equal width, CODEC.new(allow_duplicate_key: true).decode("{#{twice.join(",")}}").size
    end
  end

  # Keys that differ in the middle only, after objects whose keys were found to be unique.
  def test_remembered_keys_are_the_same_keys
    3.times do
      CODEC.decode(%({"aaaaaaaaaaaaaaaaaaaaXbbbbbbbb":1,"aaaaaaaaaaaaaaaaaaaaYbbbbbbbb":2}))
      assert_raises(CODEC::ParseError) { CODEC.decode(%({"aaaaaaaaaaaaaaaaaaaaXbbbbbbbb":1,"aaaaaaaaaaaaaaaaaaaaXbbbbbbbb":2})) }
    end
  end

  # Every key counts for what is remembered, whatever its place in its object, its length and the object's.
  def test_remembered_lists_of_keys_are_the_same_lists
    [%w[a b], ["", "x"], %w[x y z], [*"a".."m"], ["a" * 40, "b" * 40], %w[é ü ö]].each do |keys|
      CODEC.decode(object(keys))
      keys.each_index do |place|
        keys.each_with_index do |key, other|
          next if place == other

          twice = keys.dup.tap { |changed| changed[place] = key }
          assert_raises(CODEC::ParseError, twice.inspect) { CODEC.decode(object(twice)) }
          assert_raises(CODEC::ParseError, twice.inspect) { CODEC.document("[#{object(keys)},#{object(twice)}]") }
        end
      end
    end
  end

  # Long texts and short ones take different ways.
  def test_what_is_no_number
    ["-", "-.0", ".5", "01", "-01", "1.", "1.e5", "1e", "1e+", "00.5", "-00", "0123456789", "01.2345678901", "1.2.3", "--1", "+1", "1-2",
     "123456789.", "-.12345678901", "0123456789012345678", "12345678.e1"].each do |text|
      ["", " " * 50].each do |rest|
        assert_raises(CODEC::ParseError, text) { CODEC.decode(text + rest) }
        assert_raises(CODEC::ParseError, text) { CODEC.decode("[#{text}#{rest}]#{rest}") }
        assert_raises(CODEC::ParseError, text) { CODEC.document("{\"a\":#{text}#{rest},\"b\":1}#{rest}") }
      end
    end
  end

  def test_nesting
    assert_equal 100, depth(CODEC.decode("[" * 100 + "1" + "]" * 100))
    error = assert_raises(CODEC::ParseError) { CODEC.decode("[" * 101 + "1" + "]" * 101) }
    assert_equal 100, error.offset
    deep = '{"a":[' * 50_000 + "1" + "]}" * 50_000
    codec = CODEC.new(max_nesting: 100_000)
    assert_equal deep, codec.document(deep).to_json
    decoded = codec.decode(deep)
    assert_predicate decoded, :frozen?
    # Where Ruby has to walk, it does so by recursion.
    assert Ractor.shareable?(decoded) unless Guildhall.const_get(:COLLECTOR_PER_RACTOR)
    assert_raises(CODEC::ParseError) { codec.decode("[" * 1_000_000) }
  end

  def test_digits_limit
    most = "9" * 10_000
    assert_equal [most.to_i, -most.to_i, 1.0], CODEC.decode("[#{most},-#{most},0.#{most}]")
    ["9#{most}", "-9#{most}", "9" * 1_000_000].each do |number|
      [CODEC, CODEC.lazy, CODEC.new.lazy].each do |codec|
        error = assert_raises(CODEC::ParseError) { codec.call("[1,#{number}]") }
        assert_equal 3, error.offset
        assert_includes error.message, "max_digits"
      end
    end
    assert_equal "9#{most}".to_i, CODEC.new(max_digits: 10_001).decode("9#{most}")
    assert_equal 99_999_999_999_999_999, CODEC.new(max_digits: 17).decode("9" * 17)
    assert_raises(CODEC::ParseError) { CODEC.new(max_digits: 17).decode("9" * 18) }
    assert_equal 1e100, CODEC.new(max_digits: 17).decode("1#{"0" * 100}.0")
  end

  def test_size_limit_without_options
    text = " " * (64 * 1024 * 1024)
    [CODEC, CODEC.lazy, CODEC.new].each { |codec| assert_includes assert_raises(CODEC::ParseError) { codec.call("#{text}1") }.message, "max_bytes" }
    assert_equal 1, CODEC.decode("#{text[..-2]}1")
  end

  def test_size_limit
    error = assert_raises(CODEC::ParseError) { CODEC.new(max_bytes: 10).decode('"0123456789"') }
    assert_includes error.message, "max_bytes"
    assert_equal "01234567", CODEC.new(max_bytes: 10).decode('"01234567"')
  end

  def test_wrong_options_are_all_named
    error = assert_raises(Guildhall::ArgumentError) { CODEC.new(symbolise_names: true, max_nesting: 0, allow_nan: 1, decimal_class: 3) }
    %w[symbolise_names max_nesting allow_nan decimal_class].each { |name| assert_includes error.message, name }
  end

  def test_decimal_class
    made = Class.new do
      attr_reader :text

      def initialize(text)
        @text = text
        freeze
      end
    end
    value = CODEC.new(decimal_class: made).decode("[1.50, 2, 1e3]")
    assert_equal ["1.50", "1e3"], [value[0].text, value[2].text]
    assert_equal 2, value[1]
    assert Ractor.shareable?(value)
    assert_equal "1.50", CODEC.new(decimal_class: made).document('{"a":[1.50]}').dig("a", 0).text
  end

  def test_big_decimals
    value = CODEC.new(decimal_class: BigDecimal).decode('{"price": 1234567890.12345678901234567890, "n": 1, "e": -1e-400}')
    assert_equal [BigDecimal("1234567890.12345678901234567890"), 1, BigDecimal("-1e-400")], value.values
    assert Ractor.shareable?(value)
    assert_equal BigDecimal("0.1"), CODEC.new(decimal_class: BigDecimal).document("[0.1]").first
  end

  def test_decimal_classes_that_make_nothing_are_refused
    assert_equal 3r / 2, CODEC.new(decimal_class: Rational).decode("[1.50]").first
    [Integer, Object, Class.new { def self.try_convert(_) = nil }, Class.new { def initialize(_) = raise("no") }].each do |decimal_class|
      assert_raises(Guildhall::ArgumentError, decimal_class.to_s) { CODEC.new(decimal_class:) }
    end
  end

  # A Symbol is valid, whatever strings may be.
  def test_symbols_of_invalid_names
    codec = CODEC.new(symbolize_names: true, allow_invalid_utf8: true)
    assert_equal({a: "\xFF"}, codec.decode("{\"a\":\"\xFF\"}"))
    text = "{\"a\":[{\"b\":1},{\"x\xFF\":2}]}"
    [codec, codec.lazy].each do |reader|
      error = assert_raises(CODEC::ParseError) { reader.decode(text) }
      assert_equal 17, error.offset
      assert_includes error.path, "$.a[1]"
    end
    assert_raises(CODEC::ParseError) { codec.decode("{\"\\n\xFF\":2}") }
    assert_equal 2, assert_raises(CODEC::ParseError) { codec.decode("{\"\xFF\":1,]") }.offset
  end

  def test_a_decimal_class_may_decode_and_may_raise
    nested = Class.new do
      def self.try_convert(text)
        raise ArgumentError, "odd" if text == "3.5"

        Guildhall::JSON.decode("{\"text\":#{text.inspect},\"more\":[#{(["1"] * 300).join(",")}]}")
      end
    end
    codec = CODEC.new(decimal_class: nested)
    assert_equal %w[1.5 2.5], codec.decode("[1.5,2.5]").map { |value| value["text"] }
    assert_raises(ArgumentError) { codec.decode("[1.5,3.5]") }
    assert_equal [1, 2], codec.decode("[1,2]")
  end

  def test_codecs_are_frozen_and_shareable
    codec = CODEC.new(symbolize_names: true)
    [CODEC, codec, codec.lazy, CODEC.lazy, CODEC::Path.new("$.a")].each { |object| assert Ractor.shareable?(object), object.inspect }
    assert_predicate codec, :frozen?
    assert_same codec, codec.dup
    assert_raises(NoMethodError) { CODEC::Lazy.new }
    assert_raises(NoMethodError) { CODEC::ObjectDocument.new }
    assert_raises(FrozenError) { codec.send(:initialize) }
  end

  def test_a_codec_is_a_task
    assert_equal({"a" => 1}, CODEC.call('{"a":1}'))
    assert_kind_of CODEC::ObjectDocument, CODEC.lazy.call('{"a":1}')
    assert_equal 1, CODEC.new(symbolize_names: true).lazy.call('{"a":1}')[:a]
    assert_nil CODEC.native_decoder
    assert_kind_of Integer, CODEC.lazy.native_decoder
  end

  def test_not_a_string
    [nil, 1, [], :a].each { |object| assert_raises(TypeError) { CODEC.decode(object) } }
    [nil, 1, [], :a].each { |object| assert_raises(TypeError) { CODEC.document(object) } }
  end

  def test_ractors_and_threads_decode_at_once
    out = assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/json"
      Warning[:experimental] = false
      texts = Ractor.make_shareable(Array.new(50) { |n| "{\"id\":#{n},\"key#{n}\":[1.5,\"é\\n\",{\"a#{n % 7}\":null}],\"big\":#{"9" * 30}}" })
      expected = Ractor.make_shareable(texts.map { |text| Guildhall::JSON.decode(text) })
      shared = Ractor.make_shareable(texts.map { |text| Guildhall::JSON.document(text) })
      work = Ractor.make_shareable([texts, expected, shared])
      ractors = Array.new(8) do
        Ractor.new(work) do |texts, expected, shared|
          200.times.all? do |turn|
            texts.each_index.all? do |n|
              document = Guildhall::JSON.lazy.call(texts[n])
              Guildhall::JSON.decode(texts[n]) == expected[n] && document == expected[n] && shared[n].decode == expected[n] && document["id"] == n
            end
          end
        end
      end
      GC.compact if RUBY_VERSION.to_f >= 4 # 3.4 crashes when it compacts while several Ractors run Ruby
      p ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }.all?
    RUBY
    assert_equal "true\n", out
  end

  def test_survives_constant_collection_and_compaction
    out = assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/json"
      codec = Guildhall::JSON
      text = '{"a":[1,2.5,{"b":null,"long":"' + "x" * 700 + '"}],"c":"\u00e9x","d":{"e":{"f":3e300}},"g":123456789012345678901}'
      copy = text.dup.freeze
      expected = codec.decode(copy)
      GC.stress = true
      10.times do
        raise "eager" unless codec.decode(text) == expected
        document = codec.document(text)
        raise "lazy" unless document == expected && document.dig("d", "e", "f") == 3e300 && document["a"][2].detach["b"].nil?
        raise "encode" unless codec.decode(codec.encode(expected)) == expected
      end
      GC.stress = false
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      documents = Array.new(2_000) { |n| codec.document("{\"n\":#{n},\"s\":{\"t\":[#{n},\"#{"y" * (n % 900)}\"]}}") }
      parts = documents.map { |document| document["s"]["t"] }
      documents.clear
      3.times { GC.compact if GC.respond_to?(:compact) }
      p parts.each_with_index.all? { |part, n| part[0] == n && part[1].size == n % 900 }
    RUBY
    assert_equal "true\n", out
  end

  # Compaction moves what is in containers that are given again, and puts other strings in its place.
  def test_repeated_containers_survive_compaction
    out = assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/json"
      require "json"
      wrong = 30.times.flat_map do |round|
        texts = Array.new(400) { |n| %([{"a":"v#{(n * 7 + round) % 97}x#{round % 5}"},["t#{(n + round) % 53}","u#{(n * 3 + round) % 31}"]]) }
        found = texts.reject { |text| Guildhall::JSON.decode(text) == JSON.parse(text) }
        GC.verify_compaction_references(expand_heap: true, toward: :empty) if GC.respond_to?(:verify_compaction_references)
        found
      end
      p wrong
    RUBY
    assert_equal "[]\n", out
  end

  # The same values give the same object, and others, however alike, do not.
  def test_repeated_values_are_distinguished
    url = ->(name) { "https://api.example.com/users/#{name}/followers{/other_user}" }
    rows = 300.times.map { |n| {"login" => "u#{n % 7}", "url" => url["u#{n % 7}"], "other" => url["w#{n % 11}"], "n" => n % 3, "on" => n.even?} }
    3.times do
      assert_equal rows, Guildhall::JSON.decode(JSON.generate(rows))
      assert_equal rows.map(&:values), Guildhall::JSON.decode(JSON.generate(rows.map(&:values)))
      assert_equal rows.map(&:to_a).map(&:flatten), Guildhall::JSON.decode(JSON.generate(rows.map(&:to_a).map(&:flatten)))
    end
  end

  private

  def repeating(random, depth)
    case random.rand(depth.positive? ? 4 : 1)
    when 0 then random.rand(100).to_s
    when 1 then "[#{Array.new(random.rand(4)) { repeating(random, depth - 1) }.join(",")}]"
    else "{#{Array.new(random.rand(5)) { "\"#{["a", "b", "c", '\\u0061'].sample(random:)}\":#{repeating(random, depth - 1)}" }.join(",")}}"
    end
  end

  def object(keys) = "{#{keys.map { |key| %("#{key}":1) }.join(",")}}"

  def everything(value)
    case value
    when Hash then [value, *value.flat_map { |key, part| [key, *everything(part)] }]
    when Array then [value, *value.flat_map { |part| everything(part) }]
    else [value]
    end
  end

  def assert_alike(expected, value, text)
    assert expected.eql?(value), "#{text}: #{value.inspect}, not #{expected.inspect}"
  end

  def assert_same_number(expected, number, text = nil)
    assert expected.eql?(number), "#{text}: #{number.inspect}, not #{expected.inspect}"
  end

  # The middle between a double and the next, and what is just beside it, in all their digits.
  def half_way(float)
    above = float.next_float
    middle = (float.to_r + above.to_r) / 2
    places = middle.denominator.bit_length - 1
    digits = middle.numerator * 5**places
    away, near = float.negative? ? [float, above] : [above, float]
    yield "#{digits}e-#{places}", [float].pack("D").unpack1("Q").even? ? float : above
    yield "#{digits}0000000001e-#{places + 10}", away
    yield "#{digits - (digits <=> 0)}9e-#{places + 1}", near
  end

  def depth(value) = value.is_a?(Array) ? 1 + depth(value.first) : 0
end
