# frozen_string_literal: true

# Avro beside the gem avro: decoding and encoding orders of several sizes.

require "guildhall/avro"
require "avro"
require "stringio"
require_relative "data/corpus"
require_relative "support/bench"

# The orders of the corpus in Avro, and both contenders.
class AvroBench
  SCHEMA = {
    type: "record", name: "Order", fields: [
      {name: "id", type: "long"}, {name: "type", type: {type: "enum", name: "Kind", symbols: %w[order_created order_paid order_shipped]}},
      {name: "ts", type: {type: "long", logicalType: "timestamp-millis"}}, {name: "currency", type: "string"},
      {name: "user", type: {type: "record", name: "User", fields: [
        {name: "id",
         type: "long"}, {name: "name", type: "string"}, {name: "email", type: "string"},
        {name: "tags", type: {type: "array", items: "string"}}
      ]}},
      {name: "items", type: {type: "array", items: {type: "record", name: "Item", fields: [
        {name: "sku", type: "string"}, {name: "qty", type: "int"}, {name: "price", type: "double"}, {name: "desc", type: "string"},
        {name: "flags", type: {type: "array", items: %w[null boolean]}},
        {name: "attrs", type: {type: "record", name: "Attributes", fields: [
          {name: "color", type: "string"}, {name: "size", type: "int"}
        ]}}
      ]}}}
    ]
  }.freeze

  def initialize(bench)
    @bench = bench
    @corpus = Corpus.new(bytes: bench.quick? ? 150_000 : 400_000)
    @codec = Guildhall::Avro.new(SCHEMA)
    schema = Avro::Schema.parse(::JSON.generate(SCHEMA))
    @writer = Avro::IO::DatumWriter.new(schema)
    @reader = Avro::IO::DatumReader.new(schema)
  end

  def run
    Corpus::SIZES.each { |name, bytes| rows(name, @corpus.orders(bytes)) }
    Corpus::FRESH_SIZES.each { |name, bytes| rows("fresh #{name}", @corpus.fresh(bytes)) }
  end

  private

  def rows(name, texts)
    orders = texts.map { |text| order(::JSON.parse(text)) }
    payloads = orders.map { |order| @codec.encode(order) }
    @bench.compare("avro.decode #{name}", -> { payloads.map { @codec.decode(it) } }, {"avro" => -> { payloads.map { gem_decode(it) } }},
      goals: {"avro" => 25}, rounds: 5)
    @bench.compare("avro.encode #{name}", -> { orders.map { @codec.encode(it) } }, {"avro" => -> { orders.map { gem_encode(it) } }},
      goals: {"avro" => 10}, rounds: 5)
  end

  def order(order)
    order.merge("type" => order["type"].tr(".", "_"), "ts" => Time.new(order["ts"]).utc)
  end

  def gem_decode(bytes) = @reader.read(Avro::IO::BinaryDecoder.new(StringIO.new(bytes)))

  def gem_encode(order)
    io = StringIO.new("".b)
    @writer.write(order, Avro::IO::BinaryEncoder.new(io))
    io.string
  end
end

Bench.script("avro") { |bench| AvroBench.new(bench).run }
