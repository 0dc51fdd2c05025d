# frozen_string_literal: true

require "test_helper"

# Codecs keep what they have found out about a schema, keys or options in C. What they point to must not move: each codec
# and option is used before and after the heap was compacted, with many names that only Symbols hold.
class CompactionTest < GuildhallTest
  PREPARE = <<~RUBY
    require "bigdecimal"
    require "date"
    require "json"
    require "guildhall"
    require "guildhall/csv"
    require "guildhall/yaml"
    Array.new(100_000) { |i| "gone\#{i}".to_sym if i.odd? } # leaves holes to move to
    NAMES = Array.new(400) { |i| "field_\#{i}_name" }
    VALUES = NAMES.each_with_index.to_h { |name, i| [name, i] }
    FIELDS = NAMES.map { |name| {type: "int", name:, default: 7} }
    SCHEMA = JSON.generate({type: "record", name: "R", fields: [*FIELDS, {name: "u", type: ["null", {type: "record", name: "S", fields: FIELDS}], default: nil},
      {name: "e", type: {type: "enum", name: "E", symbols: NAMES}, default: NAMES.last}, {name: "d", type: {type: "bytes", logicalType: "decimal", precision: 9, scale: 2}, default: "\\u0001"}]})
    OBJECT = {**VALUES, "u" => VALUES, "e" => NAMES.first, "d" => BigDecimal("1.25")}
    AVRO = Guildhall::Avro.new(SCHEMA)
    AVRO_BYTES = AVRO.encode(OBJECT)
    SHORT = JSON.generate({type: "record", name: "R", fields: [{name: "u", type: ["null", {type: "record", name: "S", fields: FIELDS}]}]})
    TEXT = JSON.generate({**VALUES, "nested" => [VALUES, "é", 1.5, NAMES]})
    PACKED = Guildhall::MessagePack.encode({**VALUES, "nested" => [VALUES, "é", 1.5, NAMES]})
    flags = ->(names) { [{}, *names.map { |name| {name => true} }, names.to_h { |name| [name, true] }] }
    USES = []
    use = ->(codec, bytes) { USES << [codec, bytes, codec.decode(bytes), codec.respond_to?(:document) ? codec.document(bytes) : nil] }
    flags.call(%i[symbolize_names allow_nan allow_duplicate_key allow_trailing_comma allow_control_characters]).each { |options| use.call(Guildhall::JSON.new(**options), TEXT) }
    use.call(Guildhall::JSON.new(symbolize_names: true, decimal_class: BigDecimal), TEXT)
    types = [Guildhall::MessagePack::ExtensionType.new(1, for: Date, pack: Ractor.shareable_proc(&:to_s), unpack: Ractor.shareable_proc { Date.parse(_1) })] if Ractor.respond_to?(:shareable_proc)
    flags.call(%i[symbolize_keys allow_unknown_ext]).each { |options| use.call(Guildhall::MessagePack.new(**options, types: types || []), PACKED) }
    flags.call(%i[symbolize_names tagged_unions]).each do |options|
      [true, false].each { |logical_types| use.call(Guildhall::Avro.new(SCHEMA, **options, logical_types:), AVRO_BYTES) }
      use.call(Guildhall::Avro.new(SHORT, reader: SCHEMA, **options), Guildhall::Avro.new(SHORT).encode({"u" => VALUES}))
      single = Guildhall::Avro::SingleObject.new([SCHEMA], **options)
      use.call(single, single.encode(OBJECT))
    end
    [{}, {symbolize_names: true}, {headers: false}].each { |options| use.call(Guildhall::CSV.new(**options), NAMES.join(",") + "\\n" + NAMES.join(",")) }
    [{}, {symbolize_names: true}].each { |options| use.call(Guildhall::YAML.new(**options), TEXT) }
    PATH = Guildhall::JSON::Path.new("$.nested[0].field_7_name")
    SYMBOLS = NAMES.map(&:to_sym)
    CHECK = lambda do
      USES.each do |codec, bytes, decoded, document|
        raise "decode of \#{codec.inspect[0, 200]}" unless codec.decode(bytes) == decoded
        next unless document
        raise "document of \#{codec.inspect[0, 200]}" unless document == decoded && document.decode == decoded
        lost = decoded.keys.reject { |key| document.key?(key) && document[key] == decoded[key] }
        raise "\#{codec.inspect[0, 200]} lost \#{lost.first(3)}" if lost.any?
        raise "symbols" if decoded.keys.first.is_a?(Symbol) && SYMBOLS.any? { |name| decoded.key?(name) && document[name] != decoded[name] }
        raise "encode of \#{codec.inspect[0, 200]}" unless codec.decode(codec.encode(document)) == decoded
      end
      raise "path" unless PATH.of(Guildhall::JSON.document(TEXT)) == [7]
    end
    CHECK.call
  RUBY

  def test_after_compaction_was_verified
    skip "this Ruby cannot compact" unless GC.respond_to?(:verify_compaction_references)

    assert_ruby("#{PREPARE}\nGC.start\nGC.verify_compaction_references(expand_heap: true, toward: :empty)\nArray.new(200_000) { |i| \"b\#{i}yyyyyyyyyyyy\" }\nCHECK.call", gems: false)
  end

  # As `guildhall server` does at its start.
  def test_after_process_warmup
    assert_ruby("#{PREPARE}\nProcess.warmup\nArray.new(200_000) { |i| \"b\#{i}yyyyyyyyyyyy\" }\nCHECK.call\nGC.compact if GC.respond_to?(:compact)\nCHECK.call", gems: false)
  end

  # Documents reach their codec by its address, and none of them was there to pin it.
  MOVED = <<~'RUBY'
    require "guildhall"
    schema = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    made = Array.new(300) do
      [[Guildhall::JSON.new.lazy, '{"a":1}'], [Guildhall::MessagePack.new.lazy, "\x81\xA1a\x01".b], [Guildhall::Avro.new(schema).lazy, "\x02".b]]
    end.flatten(1)
    made = made.each_slice(2).map(&:first)
    GC.start
    GC.respond_to?(:verify_compaction_references) ? GC.verify_compaction_references(expand_heap: true, toward: :empty) : Process.warmup
    Array.new(200_000) { |i| "b#{i}" }
    documents = made.map { |codec, bytes| codec.decode(bytes) }
    GC.start
    GC.verify_internal_consistency
    raise unless documents.all? { |document| document["a"] == 1 }
  RUBY

  def test_codecs_that_were_moved_before_their_first_document
    assert_ruby(MOVED, gems: false)
  end
end
