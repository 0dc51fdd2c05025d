# frozen_string_literal: true

require "json"
require "uri"
require_relative "registry_server"

# Payloads in Confluent's wire format that the serializers for Node have written, and these, as far as they are installed.
module ConfluentNode
  FOLDER = File.expand_path("../fixtures/confluent", __dir__)
  KEPT = File.join(FOLDER, "payloads.json")
  MODULES = File.expand_path("../../build/confluent/node_modules", __dir__)
  PACKAGES = "npm install --prefix build/confluent @confluentinc/schemaregistry@1.10.1 @kafkajs/confluent-schema-registry@4.1.0"

  # One schema of the registry, the newest of its subject.
  Schema = Data.define(:id, :subject, :type, :text, :references) do
    def initialize(text:, references: [], **) = super(text: text.is_a?(String) ? text : JSON.generate(text), references:, **)
    def guid = format("0f0d1f2a-3b4c-5d6e-7f80-%012x", id)
    def answer = {id:, subject:, version: 1, guid:, schemaType: type, schema: text, references:}
  end

  # One value: by which tool, as which schema, and where that is named.
  Case = Data.define(:name, :tool, :schema, :value, :header) do
    def initialize(header: false, **) = super
    def topic = schema.subject.delete_suffix("-value")
  end

  MONEY = {type: "record", name: "shop.Money", fields: [{name: "cents", type: "long"}]}.freeze
  # Node's serializers do not follow references over several steps.
  ITEM = Schema.new(id: 2, subject: "item", type: "AVRO",
    text: {type: "record", name: "shop.Item", fields: [{name: "sku", type: "string"}, {name: "price", type: MONEY}]})
  ORDER = Schema.new(id: 3, subject: "orders-value", type: "AVRO",
    text: {type: "record", name: "shop.Order", fields: [{name: "id", type: "long"}, {name: "items", type: {type: "array", items: "shop.Item"}},
                                                        {name: "note", type: %w[null string]}, {name: "raw", type: "bytes"},
                                                        {name: "tags", type: {type: "map", values: "int"}},
                                                        {name: "kind", type: {type: "enum", name: "Kind", symbols: %w[NEW PAID]}}]},
    references: [{name: "shop.Item", subject: "item", version: 1}])
  TEXT = Schema.new(id: 4, subject: "texts-value", type: "AVRO", text: '"string"')
  NUMBER = Schema.new(id: 5, subject: "numbers-value", type: "AVRO", text: '{"type":"double"}')
  BYTES = Schema.new(id: 6, subject: "bytes-value", type: "AVRO", text: '"bytes"')
  ANNOTATED = Schema.new(id: 7, subject: "annotated-value", type: "AVRO", text: '{"type":"bytes","connect.name":"shop.Raw"}')
  MAYBE = Schema.new(id: 8, subject: "maybe-value", type: "AVRO", text: '["null","bytes"]')
  SKU = Schema.new(id: 9, subject: "sku", type: "JSON", text: {"$id" => "https://shop.example/sku.json", "type" => "string"})
  CART = Schema.new(id: 10, subject: "carts-value", type: "JSON",
    text: {"$schema" => "http://json-schema.org/draft-07/schema#", "title" => "Cart", "type" => "object", "required" => ["skus"],
           "properties" => {"skus" => {"type" => "array", "items" => {"$ref" => "https://shop.example/sku.json"}}}},
    references: [{name: "https://shop.example/sku.json", subject: "sku", version: 1}])
  SCHEMAS = [ITEM, ORDER, TEXT, NUMBER, BYTES, ANNOTATED, MAYBE, SKU, CART].freeze

  VALUE = {"id" => 5, "items" => [{"sku" => "größe", "price" => {"cents" => 250}}], "note" => nil, "raw" => "\x06abc".b, "tags" => {"a" => -1},
           "kind" => "PAID"}.freeze
  # The tool of KafkaJS writes a length before bytes, as Avro does and Confluent does not: it cannot read what the others write.
  CASES = {"record" => [ORDER, VALUE], "string" => [TEXT, "größe"], "double" => [NUMBER, 0.5], "json" => [CART, {"skus" => %w[a b]}]}
    .flat_map { |name, (schema, value)| %w[confluent kafkajs].map { |tool| Case.new(name: "#{tool} #{name}", tool:, schema:, value:) } }
    .concat(
      [["image", BYTES, "\xFF\xD8\xFF\xE0".b], ["length", BYTES, "\x06abc".b], ["annotated", ANNOTATED, "\x02".b], ["null", MAYBE, nil]]
        .map { |name, schema, value| Case.new(name: "confluent #{name}", tool: "confluent", schema:, value:) },
      [["record", ORDER, VALUE], ["bytes", BYTES, "\x06abc".b], ["json", CART, {"skus" => []}]]
        .map { |name, schema, value| Case.new(name: "confluent #{name}, in a header", tool: "confluent", schema:, value:, header: true) }
    ).reject { |one| one.value.nil? }.freeze

  module_function

  # @return [String, nil] why Node's are not run, and what to do about it
  def missing
    found = %w[@confluentinc/schemaregistry @kafkajs/confluent-schema-registry].all? { |name| File.directory?(File.join(MODULES, name)) }
    PACKAGES unless found && system("node", "--version", out: File::NULL, err: File::NULL)
  end

  # @return [RegistryServer] with all of the schemas
  def registry
    RegistryServer.new.tap do |server|
      SCHEMAS.each do |schema|
        answer = [200, schema.answer]
        paths = ["/schemas/ids/#{schema.id}", "/schemas/ids/#{schema.id}?subject=#{schema.subject}", "/schemas/guids/#{schema.guid}"]
        names = SCHEMAS.flat_map(&:references).select { |one| one[:subject] == schema.subject }.map { |one| one[:name] }
        queries = ["", "?deleted=true", "?deleted=false", *names.map { |name| "?name=#{URI.encode_www_form_component(name)}" }]
        %w[latest 1].product(queries) { |parts| paths << "/subjects/#{schema.subject}/versions/#{parts.join}" }
        paths.each { |path| server[path] = answer }
      end
    end
  end

  def packed(value)
    case value
    when String then value.encoding == Encoding::BINARY ? {"$bytes" => [value].pack("m0")} : value
    when Array then value.map { |one| packed(one) }
    when Hash then value.transform_values { |one| packed(one) }
    else value
    end
  end

  def unpacked(value)
    case value
    when Array then value.map { |one| unpacked(one) }
    when Hash then value.key?("$bytes") ? value["$bytes"].unpack1("m0") : value.transform_values { |one| unpacked(one) }
    else value
    end
  end
end
