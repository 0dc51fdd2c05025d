# frozen_string_literal: true

require "guildhall/avro"
require_relative "topics"

# As {Topics}, with the same orders in Avro.
class AvroTopics < Topics
  ITEM = {"type" => "record", "name" => "Item", "fields" => [
    {"name" => "sku", "type" => "string"}, {"name" => "title", "type" => "string"}, {"name" => "price", "type" => "double"},
    {"name" => "quantity", "type" => "int"}, {"name" => "tags", "type" => {"type" => "array", "items" => "string"}},
    {"name" => "gift", "type" => "boolean"}, {"name" => "note", "type" => %w[null string]}
  ]}.freeze
  SCHEMA = {"type" => "record", "name" => "Order", "fields" => [
    {"name" => "id", "type" => "long"}, {"name" => "status", "type" => "string"}, {"name" => "total", "type" => "double"},
    {"name" => "customer", "type" => {"type" => "record", "name" => "Customer", "fields" => [
      {"name" => "name", "type" => "string"}, {"name" => "email", "type" => "string"}, {"name" => "vip", "type" => "boolean"}
    ]}},
    {"name" => "items", "type" => {"type" => "array", "items" => ITEM}}
  ]}.freeze

  private

  def prefix = "guildhall-bench-avro"

  # About the given size: Avro needs less for the same than JSON.
  def payload(bytes, index)
    @codec ||= Guildhall::Avro.new(SCHEMA)
    order = ->(json) { @codec.encode(JSON.parse(Orders.document(json, index))) }
    order.call(bytes * bytes / order.call(bytes).bytesize)
  end
end
