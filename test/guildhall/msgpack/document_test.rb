# frozen_string_literal: true

require "test_helper"
require "guildhall/msgpack"
require "msgpack"
require "objspace"

class MessagePackDocumentTest < GuildhallTest
  Codec = Guildhall::MessagePack
  ORDER = {
    "id" => 7, "user" => {"email" => "a@b.example", "größer" => true}, "items" => [{"sku" => "x"}, [], nil, (2**64) - 1, 2**61, 1.5],
    3 => "three", nil => "nothing", "raw" => "\xFF".b, "at" => Time.at(5)
  }.freeze

  def setup
    @document = Codec.document(Codec.encode(ORDER))
  end

  def test_reads_like_a_hash
    assert_equal [7, "a@b.example", "three", "nothing", nil],
      [@document["id"], @document["user"]["email"], @document[3], @document[nil], @document["no"]]
    assert_equal ORDER.keys, @document.keys
    assert_equal(ORDER.values, @document.values.map { it.respond_to?(:decode) ? it.decode : it })
    assert_equal [ORDER.size, true, false], [@document.size, @document.key?("id"), @document.key?("no")]
    assert_equal(ORDER.keys, @document.map { |key, _value| key })
    assert(@document.all? { |key, value| value == ORDER[key] })
    assert_equal({"id" => 7}, @document.slice("id", "no"))
    assert_equal ORDER, @document.to_h
  end

  def test_reads_like_an_array
    items = @document["items"]
    assert_equal [6, "x", nil, 1.5], [items.size, items[0]["sku"], items[2], items[-1]]
    assert_equal [nil, nil], [items[6], items[-7]]
    assert_equal ORDER["items"], items.to_a
    assert_operator items[1..3], :==, ORDER["items"][1..3]
    assert_equal 6, items.each.to_a.size
  end

  def test_digs
    assert_equal "x", @document.dig("items", 0, "sku")
    assert_nil @document.dig("no", 0)
    assert_nil @document.dig("items", 2, "sku")
    assert_raises(NoMethodError, TypeError) { @document.dig("id", 0) }
  end

  def test_fetch
    assert_equal 7, @document.fetch("id")
    assert_equal [1, "no"], [@document.fetch("no", 1), @document.fetch("no", &:itself)]
    assert_equal "no", assert_raises(KeyError) { @document.fetch("no") }.key
    assert_raises(IndexError) { @document["items"].fetch(9) }
  end

  def test_matches_patterns
    case @document
    in {id: Integer => id, user: {email:}, items: [{sku:}, *]} then assert_equal [7, "a@b.example", "x"], [id, email, sku]
    end
  end

  def test_equals_what_it_shows
    assert_equal ORDER, @document.to_h
    assert_operator @document, :==, ORDER
    assert_operator @document, :!=, ORDER.merge("id" => 8)
    again = Codec.document(Codec.encode(ORDER))
    assert_operator @document, :eql?, again
    assert_equal @document.hash, again.hash
    assert_operator @document["items"], :==, ORDER["items"]
  end

  def test_is_frozen_shareable_and_goes_to_a_ractor
    assert_predicate @document, :frozen?
    assert Ractor.shareable?(@document["user"])
    assert_equal "a@b.example", ractor_value(Ractor.new(@document) { |document| document.dig("user", "email") })
  end

  def test_is_written_as_it_was_read
    assert_equal Codec.encode(ORDER), Codec.encode(@document)
    assert_equal Codec.encode([ORDER["items"]]), Codec.encode([@document["items"]])
  end

  def test_large_maps_are_found_by_an_index
    pairs = Array.new(5_000) { ["key#{it}", it] }.to_h
    document = Codec.document(Codec.encode({"maps" => [pairs, pairs.transform_values(&:to_s)]}))
    pairs.each { |key, value| assert_equal [value, value.to_s], [document.dig("maps", 0, key), document.dig("maps", 1, key)] }
    assert_nil document["maps"][0]["no"]
  end

  # Whatever form they were written in; of another type they are other keys.
  def test_large_maps_of_numbers_are_found_by_an_index
    pairs = Array.new(5_000) { [(it * 37) - 500, it] }.to_h.merge({1.0 => "float", (2**64) - 1 => "large", -2**63 => "small", "1" => "text"})
    document = Codec.document(Codec.encode(pairs))
    3.times { pairs.each { |key, value| assert_equal value, document[key] } }
    assert_nil document[-501]
    assert_nil document[2.0]
    long_form = "\xDE".b + [40].pack("n") + (0...39).map { |number| "\xD3".b + [number].pack("q>") + "\x01".b }.join + "\x07\x02".b
    document = Codec.document(long_form)
    40.times { assert_equal [1, 2, nil], [document[5], document[7], document[39]] }
    assert_equal Codec.decode(long_form), document.to_h
  end

  def test_the_last_of_equal_keys_counts
    twice = lambda do |count|
      pairs = Array.new(count) { |number| Codec.encode("k#{number}") + "\x01".b }
      "\xDE".b + [count + 1].pack("n") + pairs.join + Codec.encode("k0") + "\x02".b
    end
    [1, 100].each do |count|
      document = Codec.document(twice[count])
      assert_equal [2, 2, 2], [document["k0"], document.to_h["k0"], Codec.decode(twice[count])["k0"]]
    end
  end

  def test_symbol_keys
    document = Codec.new(symbolize_keys: true).lazy.decode(Codec.encode(ORDER))
    assert_equal [7, nil, "three"], [document[:id], document["id"], document[3]]
    assert_equal %i[id user], document.keys.first(2)
  end

  # To a Hash, an ASCII String is the same key in every encoding.
  def test_finds_keys_that_are_binary
    [0, 100].each do |more|
      numbers = Array.new(more) { ["k#{it}", it] }.to_h
      bytes = Codec.encode({"a".b => 5, "\xC3\xA9".b => 6, **numbers})
      plain = Codec.decode(bytes)
      document = Codec.document(bytes)
      100.times { assert_equal [5, 5, 6, nil], [document["a"], document["a".b], document["\xC3\xA9".b], document["é"]] }
      assert_equal(plain.keys.map { plain[it] }, document.keys.map { document[it] })
      assert_equal [true, 5, 5, {"a" => 5}, [5]], [document.key?("a"), document.fetch("a"), document.dig("a"), document.slice("a"), document.values_at("a")]
      assert_operator document, :==, plain
      assert_operator plain, :==, document
      assert_pattern { document => {a: 5} }
    end
    [[5, "\x82\xC4\x01a\x01\xA1a\x05".b], [1, "\x82\xA1a\x05\xC4\x01a\x01".b]].each do |last, bytes|
      assert_equal [last, last], [Codec.decode(bytes)["a"], Codec.document(bytes)["a"]]
    end
  end

  # Few keys are walked past, many are indexed: what is found is what the decoded Hash has.
  def test_finds_keys_of_every_kind
    [3, 50].each do |many|
      numbers = Array.new(many) { [it, it + 0.5, it / 7.0, (1 << 62) + it, (1 << 63) + it, -(1 << 62) - it] }.flatten
      keys = [*numbers, nil, true, false, 0.0, Float::INFINITY, "é", "\xC3\xA9".b, *Array.new(many) { [it + (1 << 31)].pack("N") }, [1, [2]], {"a" => 1}, []]
      plain = Codec.decode(Codec.encode(keys.each_with_index.to_h))
      document = Codec.document(Codec.encode(keys.each_with_index.to_h))
      asked = [*keys, *keys.first(40).map(&:to_s), -0.0, 0, 1.0, 2**80, -(2**80), "\xFF".b, "é".encode("ISO-8859-1"), :a, [1], Float::NAN, Time.at(0)]
      3.times do
        asked.each do |key|
          assert_equal [plain.key?(key), plain[key]], [document.key?(key), document[key]], key.inspect
        end
      end
    end
  end

  # Of equal keys the last counts, however they are written.
  def test_finds_the_last_of_equal_keys_of_every_kind
    float = ->(number) { "\xCB".b + [number].pack("G") }
    pairs = [[float[1.5], "\xCA".b + [1.5].pack("g")], [float[0.0], float[-0.0]], ["\xC0".b, "\xC0".b], ["\xC4\x01\xFF".b, "\xC5\x00\x01\xFF".b],
             ["\xD3".b + [5].pack("q>"), "\x05".b]]
    pairs.each do |one, other|
      [one, other].permutation do |first, last|
        bytes = "\x82".b + first + "\x01".b + last + "\x02".b
        key, value = Codec.decode(bytes).first
        assert_equal [2, 2], [value, Codec.document(bytes)[key]], bytes.inspect
      end
    end
  end

  def test_binary_keys_as_symbols
    bytes = Codec.encode({"a".b => 5, "é" => 6, "\xC3\xA9".b => 7, "\xFF".b => 8})
    plain = MessagePack.unpack(bytes, symbolize_keys: true)
    codec = Codec.new(symbolize_names: true)
    document = codec.document(bytes)
    assert_equal plain, codec.decode(bytes)
    assert_equal plain.keys, document.keys
    assert_equal(plain.values, plain.keys.map { document[it] })
    assert_equal [5, 6, nil], [document[:a], document[:é], document["a"]]
    assert_operator plain, :==, document
    assert_operator document, :==, plain
  end

  def test_scalars_come_as_they_are
    [nil, 5, 2**63, 1.5, "größer", Time.at(1)].each { |value| assert_operator Codec.document(Codec.encode(value)), :==, value }
  end

  def test_a_payload_that_is_not_frozen_is_copied
    bytes = +Codec.encode({"a" => "b" * 40})
    document = Codec.document(bytes)
    bytes.replace("x" * bytes.bytesize)
    assert_equal "b" * 40, document["a"]
  end

  def test_shows_its_shape
    assert_match(/MapDocument \{"id" => 7, "user" => \{… 2\}, "items" => \[… 6\]/, @document.inspect)
  end

  def test_finds_items_of_long_arrays_and_maps
    [15, 16, 17, 33, 500].each do |count|
      value = {"lists" => Array.new(count) { |row| row.odd? ? row : Array.new(row % 40) { it } },
               "map" => Array.new(count) { |row| [row.even? ? "k#{row}" : [row], {"n" => row}] }.to_h}
      document = Codec.document(Codec.encode(value))
      assert_equal value, document.to_h
      assert_equal(value["lists"], document["lists"].size.times.map { |place| document["lists"][place].then { it.is_a?(Integer) ? it : it.to_a } })
      value["map"].each { |key, inner| assert_equal inner, document["map"][key].to_h }
    end
  end

  def test_memory_is_bounded_whatever_the_payload
    [[1] * 50_000, [[]] * 50_000, [[1]] * 50_000, [{1 => 2}] * 50_000, [nil, {}, [[1]]] * 20_000, Array.new(50_000) { [it, it] }.to_h,
     Array.new(400) { (1..120).reduce(5) { |inner, _| [inner] } }, Array.new(400) { (1..120).reduce(5) { |inner, _| {1 => inner} } }].each do |value|
      bytes = Codec.encode(value)
      document = Codec.document(bytes)
      assert_operator ObjectSpace.memsize_of(document) - 300, :<=, 4.5 * bytes.bytesize, bytes[0, 40].inspect
      assert_equal value, document.decode
    end
  end

  def test_has_a_native_decoder
    assert_operator Codec.lazy.native_decoder, :>, 0
    assert_nil Codec.native_decoder
  end

  def test_survives_collection_and_compaction
    assert_ruby(<<~RUBY, gems: false)
      require "guildhall/msgpack"
      order = {"id" => 1, "user" => {"name" => "n" * 40, "tags" => ["a"] * 10}, "t" => Time.at(5), 3 => 2**64 - 1}
      bytes = Guildhall::MessagePack.encode(order)
      GC.stress = true
      3.times do
        document = Guildhall::MessagePack.document(bytes)
        raise unless document.dig("user", "tags", 9) == "a" && document.to_h == order && Guildhall::MessagePack.decode(bytes) == order
        raise unless Guildhall::MessagePack.encode(order) == bytes
      end
      GC.stress = false
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      documents = Array.new(2_000) { Guildhall::MessagePack.document(bytes) }
      GC.compact if GC.respond_to?(:compact)
      raise unless documents.all? { |document| document["user"]["name"] == "n" * 40 }
      raise unless Array.new(2_000) { Guildhall::MessagePack.decode(bytes) }.uniq == [order]
    RUBY
  end

  def test_eight_ractors_at_once
    out = assert_ruby(<<~'RUBY')
      require "guildhall/msgpack"
      Warning[:experimental] = false
      pairs = Array.new(500) { ["key#{it}", {"v" => it, "text" => "t#{it}"}] }.to_h
      bytes = Guildhall::MessagePack.encode(pairs)
      shared = Guildhall::MessagePack.document(bytes)
      ractors = Array.new(8) do |number|
        Ractor.new(bytes, shared, number) do |payload, document, offset|
          200.times.sum do |round|
            key = "key#{(round + offset) % 500}"
            same = document[key] == Guildhall::MessagePack.decode(payload)[key] && Guildhall::MessagePack.encode(document.to_h) == payload
            same ? document.dig(key, "v") : -1_000_000
          end
        end
      end
      puts ractors.sum { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal 8.times.sum { |offset| 200.times.sum { |round| (round + offset) % 500 } }, out.to_i
  end

  def test_keys_that_are_no_names
    plain = {"a" => 1, 1 => 2, nil => 3, "\xff" => 4}
    document = Guildhall::MessagePack.document(Guildhall::MessagePack.encode(plain))
    document => {a:, **rest}
    assert_equal [1, {1 => 2, nil => 3, "\xff" => 4}], [a, rest]
    assert_equal plain.except(1.0, "a"), document.except(1.0, "a")
  end

  def test_maps_that_say_a_key_twice_are_equal_to_their_hash
    twice = Guildhall::MessagePack.document("\x82\xA1a\x01\xA1a\x02".b)
    plain = {"a" => 2}
    assert_equal [true, true, true], [twice == plain, plain == twice, twice.eql?(plain)]
    refute_equal Guildhall::MessagePack.document("\x82\xA1a\x02\xA1a\x02".b), {"a" => 2, "b" => 3}
  end

  def test_pairs_are_plain
    pairs = Guildhall::MessagePack.document(Guildhall::MessagePack.encode({"a" => {"b" => [1]}})).to_a
    assert_instance_of Hash, pairs[0][1]
    assert_equal [["a", {"b" => [1]}], 1], pairs.push(1)
  end
end
