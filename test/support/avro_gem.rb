# frozen_string_literal: true

require "avro"
require "stringio"

# The gem avro, to compare with.
module AvroGem
  # @return [String]
  def self.encode(schema, value)
    io = StringIO.new("".b)
    Avro::IO::DatumWriter.new(parse(schema)).write(value, Avro::IO::BinaryEncoder.new(io))
    io.string
  end

  # @return [Object]
  def self.decode(schema, bytes, reader: schema)
    decoder = Avro::IO::BinaryDecoder.new(StringIO.new(bytes))
    Avro::IO::DatumReader.new(parse(schema), parse(reader)).read(decoder)
  end

  def self.parse(schema)
    schema.is_a?(Avro::Schema) ? schema : Avro::Schema.parse(schema.is_a?(String) ? schema : JSON.generate(schema))
  end
end

# Schemas that together have every type, and values of them.
module AvroSamples
  ORDER = {
    type: "record", name: "shop.Order", fields: [
      {name: "id", type: "long"}, {name: "small", type: "int"}, {name: "paid", type: "boolean"},
      {name: "note", type: %w[null string], default: nil}, {name: "ratio", type: "float"}, {name: "total", type: "double"},
      {name: "raw", type: "bytes"}, {name: "day", type: {type: "int", logicalType: "date"}},
      {name: "at", type: {type: "long", logicalType: "timestamp-micros"}},
      {name: "price", type: {type: "bytes", logicalType: "decimal", precision: 12, scale: 3}},
      {name: "state", type: {type: "enum", name: "State", symbols: %w[NEW PAID SENT]}},
      {name: "mark", type: {type: "fixed", name: "Mark", size: 5}},
      {name: "tags", type: {type: "array", items: "string"}}, {name: "counts", type: {type: "map", values: "long"}},
      {name: "parts", type: {type: "array", items: ["null", "long", "string", {type: "record", name: "Part", fields: [
        {name: "sku", type: "string"}, {name: "inside", type: %w[null Part], default: nil}
      ]}]}}
    ]
  }.freeze
  # What ORDER became: fields gone, renamed, added, promoted.
  NEWER = {
    type: "record", name: "shop.Order", fields: [
      {name: "id", type: "double"}, {name: "remark", aliases: ["note"], type: %w[null string], default: nil},
      {name: "small", type: %w[null long]}, {name: "currency", type: "string", default: "EUR"},
      {name: "limits", type: {type: "map", values: {type: "array", items: "int"}}, default: {"a" => [1, 2]}},
      {name: "tags", type: {type: "array", items: "string"}}, {name: "day", type: {type: "int", logicalType: "date"}},
      {name: "state", type: {type: "enum", name: "State", symbols: %w[NEW PAID SENT GONE]}},
      {name: "parts", type: {type: "array", items: ["null", "string", "long", {type: "record", name: "Part", fields: [
        {name: "sku", type: "string"}, {name: "weight", type: "float", default: 1.5}
      ]}]}}
    ]
  }.freeze
  TEXTS = ["", "a", "größer", "x" * 70, "日本語"].freeze
  LONGS = [0, 1, -1, 63, 64, -64, -65, 2**31, -2**31, 2**62, (2**63) - 1, -2**63].freeze

  def self.order(random)
    {
      "id" => one(random, LONGS), "small" => one(random, LONGS.select { it.bit_length < 32 }), "paid" => random.rand(2).zero?,
      "note" => one(random, [nil, *TEXTS]), "ratio" => one(random, [0.0, 1.5, -2.25]), "total" => one(random, [1.1, -0.0, 1e300, 7]),
      "raw" => random.bytes(random.rand(90)), "day" => Date.new(2026, 1, 1) + random.rand(-50_000..50_000),
      "at" => Time.at(random.rand(2 * (10**10)) - (10**10), random.rand(10**6), :microsecond).utc,
      "price" => BigDecimal(random.rand(2 * (10**12)) - (10**12) + 1) / 1000,
      "state" => one(random, %w[NEW PAID SENT]), "mark" => random.bytes(5), "tags" => Array.new(random.rand(4)) { one(random, TEXTS) },
      "counts" => Array.new(random.rand(4)) { ["k#{it}", one(random, LONGS)] }.to_h, "parts" => Array.new(random.rand(4)) { part(random) }
    }
  end

  def self.part(random)
    case random.rand(4)
    when 0 then nil
    when 1 then one(random, LONGS)
    when 2 then one(random, TEXTS)
    else {"sku" => one(random, TEXTS), "inside" => random.rand(2).zero? ? nil : {"sku" => "in", "inside" => nil}}
    end
  end

  def self.one(random, list) = list[random.rand(list.size)]
end
