# frozen_string_literal: true

require "stringio"
require_relative "documents"
require_relative "row"

module Cost
  # Avro: eager, lazy, what is asked of Documents, what is written, and files.
  module AvroRows
    NODE = {type: "record", name: "Node", fields: [{name: "value", type: "int"}, {name: "next", type: %w[null Node]}]}.freeze
    TREE = {type: "record", name: "Tree", fields: [{name: "left", type: %w[null Tree]}, {name: "right", type: %w[null Tree]}, {name: "value", type: "int"}]}.freeze
    SELF = {type: "record", name: "Self", fields: [{name: "inside", type: {type: "array", items: "Self"}}]}.freeze
    WIDE = {type: "record", name: "Wide", fields: Array.new(60) { |i| {name: "f#{i}", type: i.even? ? "int" : %w[null string]} }}.freeze
    HOLLOW = {type: "record", name: "Hollow", fields: Array.new(20) { |i| {name: "f#{i}", type: "null"} }}.freeze
    JSON = Guildhall::JSON.new(max_nesting: 1_000)
    LIST = ->(items) { {type: "array", items:} }
    DEPTH = 60

    # Each: its schema, and an object of a number of units.
    OBJECTS = {
      "longs" => [LIST["long"], ->(n) { Array.new(n) { |i| i } }],
      "strings" => [LIST["string"], ->(n) { Array.new(n) { |i| "s#{i}" } }],
      "one long string" => ["string", ->(n) { "x" * (n * 10) }],
      "doubles" => [LIST["double"], ->(n) { Array.new(n) { |i| i / 2.0 } }],
      "bytes" => [LIST["bytes"], ->(n) { Array.new(n) { |i| [i].pack("N") } }],
      "unions" => [LIST[%w[null int string boolean double]], ->(n) { Array.new(n) { |i| [nil, i, "s", true, 1.5][i % 5] } }],
      "a wide map" => [{type: "map", values: "int"}, ->(n) { Array.new(n) { |i| ["k#{i}", i] }.to_h }],
      "wide maps" => [LIST[{type: "map", values: "string"}], ->(n) { Array.new(n / 40) { |i| Array.new(40) { |j| ["k#{i}_#{j}", "v"] }.to_h } }],
      "maps of lists" => [{type: "map", values: LIST["int"]}, ->(n) { Array.new(n) { |i| ["k#{i}", [i, i]] }.to_h }],
      "long keys alike" => [{type: "map", values: "int"}, ->(n) { Array.new(n / 40) { |i| ["#{"x" * 300}#{i}", i] }.to_h }],
      "wide records" => [LIST[WIDE], ->(n) { Array.new(n / 30) { |i| Array.new(60) { |j| ["f#{j}", j.even? ? i : nil] }.to_h } }],
      "chains of records" => [LIST[NODE], ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce(nil) { |inner, i| {"value" => i, "next" => inner} } } }],
      "trees to the left" => [LIST[TREE], ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce(nil) { |inner, i| {"left" => inner, "right" => nil, "value" => i} } } }],
      "arrays in arrays" => [LIST[SELF], ->(n) { Array.new((n / DEPTH) + 1) { (1..DEPTH).reduce([]) { |inner, _| [{"inside" => inner}] }.first } }],
      "empty records" => [LIST[{type: "record", name: "Empty", fields: [{name: "none", type: LIST["int"]}]}], ->(n) { Array.new(n) { {"none" => []} } }],
      "decimals" => [LIST[{type: "bytes", logicalType: "decimal", precision: 20, scale: 2}], ->(n) { Array.new(n) { |i| BigDecimal(i) / 4 } }],
      "timestamps" => [LIST[{type: "long", logicalType: "timestamp-micros"}], ->(n) { Array.new(n) { |i| Time.at(i).utc } }],
      "enums" => [LIST[{type: "enum", name: "E", symbols: %w[A B C]}], ->(n) { Array.new(n) { |i| %w[A B C][i % 3] } }]
    }.freeze

    # Bytes that no encoder here would write.
    BYTES = {
      "blocks of one item" => [LIST["long"], ->(n) { ("\x02\x02".b * n) + "\x00".b }],
      "blocks that say their size" => [LIST["long"], ->(n) { ("\x01\x02\x02".b * n) + "\x00".b }],
      "items without a byte" => [LIST["null"], ->(n) { number(n) + "\x00".b }, ->(_, n) { n }],
      "records without a byte" => [LIST[HOLLOW], ->(n) { number(n / 21) + "\x00".b }, ->(_, n) { n }],
      "a map of records without a byte" => [{type: "map", values: HOLLOW}, ->(n) { number(n / 20) + ("\x00".b * ((n / 20) + 1)) }, ->(_, n) { n }],
      "blocks of items without a byte" => [LIST["null"], ->(n) { (number(20) * (n / 20)) + "\x00".b }, ->(_, n) { n }],
      "a map of one key, again and again" => [{type: "map", values: "int"}, ->(n) { number(n) + ("\x02a\x02".b * n) + "\x00".b }],
      "more items than there are" => [LIST["long"], ->(n) { number(n * 3) + ("\x02".b * n) }],
      "cut off" => [LIST["string"], ->(n) { number(n) + ("\x04ab".b * (n - 1)) + "\x04a".b }]
    }.freeze

    # What the reader leaves out.
    SKIPPED = {type: "record", name: "R", fields: [{name: "gone", type: LIST[SELF]}, {name: "also", type: {type: "map", values: "string"}}, {name: "kept", type: "int"}]}.freeze
    KEPT = {type: "record", name: "R", fields: [{name: "kept", type: "int"}]}.freeze

    DOCUMENTS = {
      "encode" => ->(codec, document) { codec.encode(document) },
      "encode each as JSON" => ->(_, document) { inner(document).each { |value| JSON.encode(value) } },
      "decode each" => ->(_, document) { inner(document).each(&:decode) },
      "fetch each" => ->(_, document) { map?(document) ? document.keys.each { |key| document[key] } : document.size.times { |index| document[index] } },
      "fetch each of each" => lambda { |_, document|
        inner(document).each { |value| map?(value) ? value.keys.each { |key| value[key] } : value.size.times { |index| value[index] } }
      },
      "everything, by what it is in" => ->(_, document) { visit(document) },
      "each" => ->(_, document) { document.each { |*pair| pair } },
      "== decoded" => ->(_, document) { document == document.decode }
    }.freeze

    def self.number(value) = Guildhall::Avro.new("long").encode(value)
    def self.map?(value) = Guildhall::Document::Map === value
    def self.inner(document) = (map?(document) ? document.values : document.elements).select { |value| Guildhall::Document === value }
    def self.visit(value) = inner(value).each { |child| visit(child) }

    # Schemas, as JSON; each of a number of units.
    SCHEMAS = {
      "of many fields" => ->(n) { {type: "record", name: "R", fields: Array.new(n) { |i| {name: "f#{i}", type: "int", default: i} }} },
      "of many records" => ->(n) { {type: "record", name: "R", fields: Array.new(n) { |i| {name: "f#{i}", type: {type: "record", name: "R#{i}", fields: []}} }} },
      "of many symbols" => ->(n) { {type: "enum", name: "E", symbols: Array.new(n) { |i| "S#{i}" }} },
      "of a wide union" => ->(n) { Array.new(n) { |i| {type: "fixed", name: "F#{i}", size: i + 1} } },
      "of aliases" => ->(n) { {type: "record", name: "R", fields: Array.new(n) { |i| {name: "f#{i}", aliases: ["a#{i}"], type: "int"} }} }
    }.freeze
    COMPILED = {
      "parse" => ->(schema) { Guildhall::Avro::Schema.parse(schema) },
      "compile" => ->(schema) { Guildhall::Avro.new(schema) },
      "compile for a reader" => ->(schema) { Guildhall::Avro.new(schema, reader: schema.gsub(/"f(\d+)"/, "\"g\\1\"")) }
    }.freeze

    def self.schema_rows
      SCHEMAS.flat_map do |document, schema|
        works = document == "of many fields" ? COMPILED : COMPILED.except("compile for a reader")
        works.map { |operation, work| row("a schema #{document}", operation, ->(n) { JSON.encode(schema.call(n)) }, work) }
      end
    end

    def self.rows
      written = OBJECTS.flat_map do |document, (schema, object)|
        codec = Guildhall::Avro.new(schema)
        rows_of(document, codec, ->(n) { codec.encode(object.call(n)) }) +
          [row(document, "encode objects", ->(n) { codec.encode(object.call(n)) }, ->(value) { codec.encode(value) }, ->(bytes) { codec.decode(bytes) })]
      end
      written + byte_rows + skipped_rows + file_rows + alike_rows + schema_rows
    end

    def self.rows_of(document, codec, payload, **)
      documents = document.match?(/one long|decimals|timestamps|bytes/) ? DOCUMENTS.slice("each", "decode each") : DOCUMENTS
      documents = {} if document == "one long string"
      documents = documents.except("encode") if codec.reader != codec.schema
      [row(document, "decode", payload, ->(bytes) { refused { codec.decode(bytes) } }, **),
       row(document, "document", payload, ->(bytes) { refused { codec.document(bytes) } }, **)] +
        documents.map { |operation, work| row(document, operation, payload, ->(value) { work.call(codec, value) }, ->(bytes) { refused { codec.document(bytes) } }, **) }
    end

    def self.byte_rows
      BYTES.flat_map do |document, (schema, payload, bytes)|
        rows_of(document, Guildhall::Avro.new(schema), payload, **{bytes:}.compact)
      end
    end

    def self.skipped_rows
      writer = Guildhall::Avro.new(SKIPPED)
      reader = Guildhall::Avro.new(SKIPPED, reader: KEPT)
      payload = lambda do |n|
        writer.encode({"gone" => OBJECTS["arrays in arrays"].last.call(n), "also" => Array.new(n) { |i| ["k#{i}", "v"] }.to_h, "kept" => 1})
      end
      rows_of("fields that the reader leaves out", reader, payload)
    end

    def self.file_rows
      OBJECTS.slice("strings", "unions", "wide maps", "chains of records").flat_map do |document, (schema, object)|
        %w[null deflate].map do |compression|
          payload = ->(n) { file(schema, Array.new(8) { object.call(n / 8) }, compression) }
          row("file of #{document}, #{compression}", "each", payload, ->(bytes) { Guildhall::Avro::Container.each(bytes) { |read| read } },
            bytes: ->(bytes, n) { [bytes.bytesize, n].max })
        end
      end + [row("file of small records", "each", ->(n) { file("int", Array.new(n) { |i| i }, "null") }, ->(bytes) { Guildhall::Avro::Container.each(bytes) { |read| read } }),
             row("file that is cut off", "each", ->(n) { file("int", Array.new(n) { |i| i }, "null").byteslice(0..-2) },
               ->(bytes) { refused { Guildhall::Avro::Container.each(bytes) { |read| read } } })]
    end

    def self.file(schema, objects, compression)
      StringIO.new("".b).tap { |io| Guildhall::Avro::Container.write(io, schema, objects, compression:) }.string
    end

    # Records that differ in what is deepest inside: which branch of a union is meant?
    def self.alike_rows
      codec = Guildhall::Avro.new(LIST[[A, "B"]])
      object = lambda do |n|
        Array.new((n / 20) + 1) { (1..10).reduce({"kind" => "b", "inside" => nil}) { |inner, _| {"kind" => "b", "inside" => inner} } }
      end
      [row("records alike", "encode objects", ->(n) { Guildhall::JSON.encode(object.call(n)) }, ->(value) { codec.encode(value) }, ->(text) { Guildhall::JSON.decode(text) })]
    end

    B = {type: "record", name: "B", fields: [{name: "inside", type: %w[null A B]}, {name: "kind", type: "string"}]}.freeze
    A = {type: "record", name: "A", fields: [{name: "inside", type: ["null", "A", B]}, {name: "kind", type: "int"}]}.freeze

    def self.refused
      yield
    rescue Guildhall::DecodeError
      nil
    end

    def self.row(document, operation, payload, work, subject = :itself.to_proc, **)
      Row.new(codec: "Avro", document:, operation:, payload:, work:, subject:, **)
    end
  end
end
