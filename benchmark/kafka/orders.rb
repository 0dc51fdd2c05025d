# frozen_string_literal: true

require "json"

# Order-like documents of about a given size, all different, and what the contenders read of each.
module Orders
  ITEM = {"type" => "object", "required" => %w[sku price quantity], "properties" => {
    "sku" => {"type" => "string", "pattern" => "^SKU-[0-9]+$"}, "title" => {"type" => "string", "minLength" => 1},
    "price" => {"type" => "number", "minimum" => 0}, "quantity" => {"type" => "integer", "minimum" => 1},
    "tags" => {"type" => "array", "items" => {"type" => "string"}}, "gift" => {"type" => "boolean"},
    "note" => {"type" => %w[string null]}
  }}.freeze
  SCHEMA = {"$schema" => "https://json-schema.org/draft/2020-12/schema", "type" => "object",
            "required" => %w[id status total customer items], "properties" => {
              "id" => {"type" => "integer"}, "status" => {"enum" => %w[paid open shipped]}, "total" => {"type" => "number", "minimum" => 0},
              "customer" => {"type" => "object", "required" => ["email"], "properties" => {
                "name" => {"type" => "string"}, "email" => {"type" => "string", "format" => "email"}, "vip" => {"type" => "boolean"}
              }},
              "items" => {"type" => "array", "minItems" => 1, "items" => ITEM}
            }}.freeze

  # @param bytes [Integer]
  # @param index [Integer]
  # @return [String] JSON
  def self.document(bytes, index)
    order = {"id" => index, "status" => %w[paid open shipped].fetch(index % 3), "total" => index % 10_000 / 100.0,
             "customer" => {"name" => "Customer #{index}", "email" => "customer#{index}@example.com", "vip" => index.even?},
             "items" => []}
    size = JSON.generate(order).bytesize
    number = 0
    while size < bytes
      item = {"sku" => "SKU-#{(index * 31) + number}", "title" => "Thing number #{number} of order #{index}", "price" => number + 0.5,
              "quantity" => (number % 7) + 1, "tags" => ["tag#{number % 5}", "tag#{index % 9}"], "gift" => false, "note" => nil}
      order["items"] << item
      size += JSON.generate(item).bytesize + 1
      number += 1
    end
    JSON.generate(order)
  end

  # Five fields; the same sum means that the same was read.
  # @param order [Hash, Guildhall::JSON::ObjectDocument]
  # @return [Integer]
  def self.read(order)
    order["id"] + order["status"].bytesize + (order["total"] * 100).round +
      order["customer"]["email"].bytesize + order["items"][0]["quantity"]
  end
end
