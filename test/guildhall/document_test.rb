# frozen_string_literal: true

require "test_helper"
require "objspace"
require "guildhall/avro"
require "guildhall/json"
require "guildhall/msgpack"

# What holds for Documents of every format: how much memory they take at the worst, and that no look-up is paid for by
# what has nothing to do with it.
class DocumentTest < GuildhallTest
  # Beyond the payload, as many times the payload, and what an object takes however small its payload is.
  LIMIT = 4.5
  ALWAYS = 400
  SIGNS = (33..126).map(&:chr) - ['"', "\\"]
  NAMES = SIGNS.product(SIGNS).map(&:join).freeze

  # The most nodes and the most places in indexes for the fewest bytes.
  TEXTS = {
    "numbers" => "[#{(["0"] * 50_000).join(",")}]", "arrays" => "[#{(["[]"] * 50_000).join(",")}]",
    "arrays of one" => "[#{(["[0]"] * 50_000).join(",")}]", "objects" => "[#{(["{}"] * 50_000).join(",")}]",
    "objects of one" => "[#{(["{\"\":0}"] * 20_000).join(",")}]", "deep arrays" => ("[" * 90) + ("]" * 90),
    "deep arrays beside numbers" => "[#{(["#{"[0," * 90}0#{"]" * 90}"] * 200).join(",")}]",
    "an array in each array" => "[#{(["[[]#{",0" * 16}]"] * 2_000).join(",")}]",
    "long arrays with an array each" => "[#{(["[#{"0," * 99}[]]"] * 500).join(",")}]",
    "an object of one-byte keys" => "{#{SIGNS.map { |name| "\"#{name}\":0" }.join(",")}}",
    "objects of one-byte keys" => "[#{(["{#{SIGNS.first(17).map { |name| "\"#{name}\":0" }.join(",")},\"\":[]}"] * 500).join(",")}]",
    "an object of two-byte keys" => "{#{NAMES.map { |name| "\"#{name}\":0" }.join(",")}}",
    "an object of 5462 keys" => "{#{NAMES.first(5_462).map { |name| "\"#{name}\":0" }.join(",")}}"
  }.freeze

  def test_what_would_change_a_document_says_what_to_do_and_quotes_nothing
    {'{"email": "ada"}' => [->(doc) { doc["a"] = 1 }, "ObjectDocument", "payload.to_h.dup"], '["ada"]' => [->(doc) { doc << 1 }, "ArrayDocument", "payload.to_a.dup"]}
      .each do |bytes, (change, name, copy)|
        document = Guildhall::JSON.document(bytes)
        error = assert_raises(FrozenError) { change.call(document) }
        assert_equal "can't modify frozen Guildhall::JSON::#{name}: payloads are frozen: use #{copy}", error.message
        assert_equal error.message, Guildhall::Redaction.message(error)
        assert_same document, error.receiver
        assert_nil error.cause
      end
    plain = "ada"
    error = assert_raises(FrozenError) { Guildhall::JSON.document("[1]").each_with_object(plain) { |_, text| text << "x" } }
    assert_same plain, error.receiver
    assert_raises(FrozenError) { Guildhall::JSON.document('{"a": 1}').filter_map { plain << "x" } }
  end

  def test_json_takes_no_more_than_its_limit
    TEXTS.each do |what, text|
      document = Guildhall::JSON.document(text.dup.freeze)
      assert_memory document, text, what
      ask_everywhere(document, 60)
      assert_memory document, text, "#{what}, indexed"
    end
  end

  # Memory comes in blocks of certain sizes: whatever the size, and with the smallest arrays that get a place in the index.
  def test_json_takes_no_more_than_its_limit_at_any_size
    size = 100.0
    while (size *= 1.013) < 20_000
      ["0", "[[]#{",0" * 16}]", "[[]#{",0" * 32}]", "[[]#{",0" * 48}]"].each do |element|
        text = "[#{([element] * (size / element.size).ceil).join(",")}]".freeze
        document = Guildhall::JSON.document(text)
        ask_everywhere(document, 60) if text.size < 40_000
        assert_memory document, text, "#{element} #{size}"
      end
    end
  end

  PAYLOADS = {
    "small numbers as keys" => "\xDE".b + [5_462].pack("n") + ("\x01\x02".b * 5_462),
    "the same key again and again" => "\xDE".b + [5_462].pack("n") + ("\xA1a\xC0".b * 5_462),
    "one-byte keys" => "\xDE".b + [256].pack("n") + (0..255).map { |byte| "\xA1".b + byte.chr.b + "\xC0".b }.join,
    "two-byte keys" => "\xDE".b + [5_462].pack("n") + NAMES.first(5_462).map { |name| "\xA2".b + name.b + "\xC0".b }.join,
    "many maps" => "\xDC".b + [2_000].pack("n") + (("\xDE".b + [33].pack("n") + NAMES.first(33).map { |name| "\xA2".b + name.b + "\xC0".b }.join) * 2_000),
    "pairs within pairs" => "\xDE".b + [301].pack("n") + ("\xA0".b + ("\x92".b * 120) + ("\xC0".b * 121)) * 300 + "\xA1x\xC0".b
  }.freeze

  def test_message_pack_takes_no_more_than_its_limit
    codec = Guildhall::MessagePack.new(max_nesting: 200)
    PAYLOADS.each do |what, bytes|
      document = codec.document(bytes.dup.freeze)
      ask_everywhere(document, 60)
      assert_memory document, bytes, what
    end
  end

  def test_avro_takes_no_more_than_its_limit
    codec = Guildhall::Avro.new({type: "map", values: "null"})
    {"one empty key" => [""] * 5_462, "one-byte keys" => SIGNS, "two-byte keys" => NAMES}.each do |what, keys|
      bytes = pairs(keys)
      document = codec.document(bytes)
      ask_everywhere(document, 60)
      assert_memory document, bytes, what
    end
    nested = Guildhall::Avro.new({type: "array", items: {type: "map", values: "null"}})
    bytes = (Guildhall::Avro.new("long").encode(500) + (pairs(NAMES.first(33)) * 500) + "\0").freeze
    document = nested.document(bytes)
    ask_everywhere(document, 8)
    assert_memory document, bytes, "many maps"
  end

  # Twenty thousand maps that are large enough for an index: with one list of them all this would take half an hour.
  def test_many_large_maps_are_no_burden_to_each_other
    assert_ruby(<<~RUBY)
      require "guildhall/msgpack"
      require "guildhall/json"
      map = Array.new(40) { ["k\#{it}", it] }.to_h
      numbers = Guildhall::MessagePack.document(Guildhall::MessagePack.encode(Array.new(100_000) { [it, it] }.to_h))
      raise "numbers" unless 100_000.times.all? { numbers[it] == it }
      [Guildhall::MessagePack, Guildhall::JSON].each do |codec|
        maps = codec.document(codec.encode([map] * 20_000))
        raise codec.name unless maps.sum { |one| 40.times.sum { |number| one["k\#{number}"] } } == 20_000 * 780
      end
    RUBY
  end

  # In a process of its own: no other Ractor collects there.
  def test_indexes_count_as_memory_that_documents_hold
    assert_ruby(<<~'RUBY')
      require "guildhall/msgpack"
      require "objspace"
      GC.disable
      ballast = "a" * 50_000_000 # Ruby's count never is below 0, whatever was freed before
      pairs = Array.new(5_462) { |number| "\xA3".b + number.to_s(36).rjust(3, "0") + "\xC0".b }
      document = Guildhall::MessagePack.document("\xDE".b + [5_462].pack("n") + pairs.join)
      small = ObjectSpace.memsize_of(document)
      before = GC.stat(:malloc_increase_bytes)
      60.times { raise "found" if document["no"] }
      grown = ObjectSpace.memsize_of(document) - small
      raise "grown by #{grown}" unless grown > 5_462 * 4
      counted = GC.stat(:malloc_increase_bytes) - before
      raise "#{counted} of #{grown} counted" unless counted >= grown
      raise unless ballast.bytesize == 50_000_000
    RUBY
  end

  private

  def assert_memory(document, bytes, what)
    taken = ObjectSpace.memsize_of(document) - ALWAYS
    assert_operator taken, :<=, LIMIT * bytes.bytesize, "#{what}: #{(taken.to_f / bytes.bytesize).round(2)} times #{bytes.bytesize} bytes"
  end

  # Often enough that all indexes are made that are ever made.
  def ask_everywhere(document, times)
    parts = document.is_a?(Guildhall::Document::Map) ? [document] : [document, *document.first(2_000)]
    times.times { parts.each { |part| ask(part) } }
  end

  def ask(part)
    case part
    when Guildhall::Document::Map then part["no such key"] || part[77]
    when Guildhall::Document::List then part[-1]
    end
  end

  # A map of nothing, as Avro writes it.
  def pairs(keys)
    long = Guildhall::Avro.new("long")
    (long.encode(keys.size) + keys.map { |key| long.encode(key.bytesize) + key.b }.join + "\0").freeze
  end
end
