# frozen_string_literal: true

require "bigdecimal"
require "guildhall/avro"
require "guildhall/csv"
require "guildhall/json"
require "guildhall/schema"
require "guildhall/yaml"

# Payloads and values whose numbers stand for more than their bytes, and what has to become of them.
module NumberCases
  # A class of the application's for decimals.
  Written = Data.define(:text)

  # Numbers of JSON with more digits, written out, than the default of max_digits, and with as many or fewer.
  REFUSED = ["1e999999999", "-1E+10000", "1e-999999999", "1e-10000", "0e10001", "1.5e#{"9" * 5_000}", "0.#{"1" * 10_000}", "#{"1" * 10_000}.5"].freeze
  ACCEPTED = ["1e9999", "-1.5E+9998", "1e-9999", "0.#{"1" * 9_999}", "1e0000000000001", "100e-2", "0e-5"].freeze

  HUGE = BigDecimal("1e999999999")
  TINY = BigDecimal("1e-999999999")
  CLASSES = [BigDecimal, Rational, Written].freeze
  DECIMALS = Guildhall::JSON.new(decimal_class: BigDecimal)

  def self.schema(json, value = HUGE, **options) = Guildhall::Schema.new(json, **options).validator.valid?(value)
  def self.avro(type, value) = Guildhall::Avro.new(type).encode(value)
  def self.logical(type, name, **more) = {type:, logicalType: name, **more}

  # Each with what it gives: a value, or the class of an error and a word of its message.
  PATHS = {
    **CLASSES.product(REFUSED.first(4)).to_h do |type, text|
      ["JSON, #{type}, #{text}", [-> { Guildhall::JSON.new(decimal_class: type).decode("{\"id\":#{text}}") }, [Guildhall::JSON::ParseError, "max_digits, 10000"]]]
    end,
    "JSON, lazy" => [-> { DECIMALS.lazy.decode("{\"id\":1e999999999}") }, [Guildhall::JSON::ParseError, "max_digits, 10000"]],
    "JSON, Float" => [-> { Guildhall::JSON.decode("[1e999999999,1e-999999999]") }, [Float::INFINITY, 0.0]],
    "JSON, encode" => [-> { DECIMALS.encode([HUGE]) }, [Guildhall::JSON::EncodeError, "max_digits, 10000"]],
    "JSON, encode tiny" => [-> { DECIMALS.encode([TINY]) }, [Guildhall::JSON::EncodeError, "max_digits, 10000"]],
    "JSON, encode as text" => [-> { Guildhall::JSON.encode([HUGE]) }, "[\"0.1e1000000000\"]"],
    "JSON, encode an Integer" => [-> { Guildhall::JSON.encode([1 << 100_000_000]) }, [Guildhall::JSON::EncodeError, "max_digits, 10000"]],
    "JSON, encode a Rational" => [-> { Guildhall::JSON.encode([Rational(1, 1 << 100_000_000)]) }, [Guildhall::JSON::EncodeError, "max_digits, 10000"]],
    "integer" => [-> { schema({"type" => "integer"}) }, true],
    "integer, tiny" => [-> { schema({"type" => "integer"}, TINY) }, false],
    "contract" => [-> { Guildhall::Schema.contract { required "id", Integer }.validator.valid?({"id" => HUGE}) }, true],
    "multipleOf" => [-> { schema({"multipleOf" => 0.01}) }, true],
    "multipleOf 3" => [-> { schema({"multipleOf" => 3}) }, false],
    "multipleOf, tiny" => [-> { schema({"multipleOf" => 0.01}, TINY) }, false],
    "multipleOf huge" => [-> { schema({"multipleOf" => HUGE}, 12) }, false],
    "multipleOf tiny" => [-> { schema({"multipleOf" => TINY}, BigDecimal("0.1")) }, true],
    "multipleOf, digits" => [-> { schema({"multipleOf" => 3}, 1 << 100_000_000) }, [Guildhall::Schema::LimitError, "max_digits, 10000"]],
    "multipleOf, more digits" => [-> { schema({"multipleOf" => 2}, 1 << 100_000, max_digits: 40_000) }, true],
    "uniqueItems" => [-> { schema({"uniqueItems" => true}, [HUGE, TINY, 1, HUGE]) }, false],
    "minimum" => [-> { schema({"minimum" => 5, "exclusiveMinimum" => 5.5}) }, true],
    "maximum" => [-> { schema({"maximum" => 5}) }, false],
    "enum" => [-> { schema({"enum" => [1, 2.5]}) }, false],
    "const" => [-> { schema({"const" => HUGE}) }, true],
    "a schema's limit" => [-> { schema({"minLength" => HUGE}) }, [Guildhall::SchemaError, "minLength"]],
    "Avro decimal" => [-> { avro(logical("bytes", "decimal", precision: 9, scale: 2), HUGE) }, [Guildhall::EncodeError, "decimal of precision 9 and scale 2 expected"]],
    "Avro decimal, tiny" => [-> { avro(logical("bytes", "decimal", precision: 9, scale: 2), TINY) }, [Guildhall::EncodeError, "decimal of precision 9 and scale 2 expected"]],
    "Avro decimal, Integer" => [-> { avro(logical("bytes", "decimal", precision: 9, scale: 2), 1 << 100_000_000) }, [Guildhall::EncodeError, "decimal of precision 9 and scale 2 expected"]],
    "Avro big-decimal" => [-> { avro(logical("bytes", "big-decimal"), HUGE) }, [Guildhall::EncodeError, "bytes"]],
    "Avro big-decimal, Integer" => [-> { avro(logical("bytes", "big-decimal"), 1 << 100_000_000) }, [Guildhall::EncodeError, "bytes"]],
    "Avro timestamp" => [-> { avro(logical("long", "timestamp-millis"), HUGE) }, [Guildhall::EncodeError, "timestamp within 64 bits expected"]],
    "Avro local timestamp" => [-> { avro(logical("long", "local-timestamp-nanos"), HUGE) }, [Guildhall::EncodeError, "timestamp within 64 bits expected"]],
    "Avro date" => [-> { avro(logical("int", "date"), HUGE) }, [Guildhall::EncodeError, "date within 32 bits expected"]],
    "Avro date, tiny" => [-> { avro(logical("int", "date"), TINY) }, "\0".b],
    "Avro long" => [-> { avro("long", HUGE) }, [Guildhall::EncodeError, "long"]],
    "Avro double" => [-> { avro("double", HUGE) }, [Guildhall::EncodeError, "double within 64 bits"]],
    "JSONPath" => [-> { Guildhall::JSON::Path.new("$[?@ > 5]").of([HUGE, TINY, 7]) }, [HUGE, 7]],
    "CSV integer" => [-> { Guildhall::CSV.new(converters: :integer).decode("a\n#{"9" * 5_000_000}\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "CSV decimal" => [-> { Guildhall::CSV.new(converters: :decimal).decode("a\n1e999999999\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "CSV time" => [-> { Guildhall::CSV.new(converters: :time).decode("a\n#{"9" * 5_000_000}-01-01T00:00:00Z\n") }, [Guildhall::DecodeError, "too long"]],
    "CSV date" => [-> { Guildhall::CSV.new(converters: :date).decode("a\n#{"9" * 5_000_000}-01-01\n") }, [Guildhall::DecodeError, "exceeds the limit"]],
    "YAML integer" => [-> { Guildhall::YAML.decode("a: #{"9" * 5_000_000}\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML integer, commas" => [-> { Guildhall::YAML.decode("a: #{"9," * 5_000_000}1\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML base 60" => [-> { Guildhall::YAML.decode("a: #{"9" * 5_000_000}:20\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML key" => [-> { Guildhall::YAML.decode("? #{"9" * 5_000_000}\n: 1\n") }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML time" => [lambda {
      Guildhall::YAML.new(permitted_classes: [Time]).decode("2026-03-01 10:10:10.#{"9" * 5_000_000}\n")
    }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML Rational" => [lambda {
      Guildhall::YAML.new(permitted_classes: [Rational]).decode("!ruby/object:Rational 1e999999999\n")
    }, [Guildhall::DecodeError, "max_digits, 10000"]],
    "YAML hexadecimal" => [-> { Guildhall::YAML.decode("0x#{"f" * 20_000}\n").bit_length }, 80_000]
  }.freeze

  # Payloads of about n bytes, and what is done with them: it may take no more than in proportion.
  GROWING = {
    "uniqueItems, integers of one slot" => [->(n) { "[#{colliding(n / 20).join(",")}]" }, ->(text) { unique(Guildhall::JSON.document(text)) }],
    "uniqueItems, doubles" => [->(n) { "[#{Array.new(n / 10) { |i| "#{i}e200" }.join(",")}]" }, ->(text) { unique(Guildhall::JSON.document(text)) }],
    "uniqueItems, NaN" => [->(n) { "[#{(["NaN"] * (n / 4)).join(",")}]" }, ->(text) { unique(Guildhall::JSON.new(allow_nan: true).document(text)) }],
    "uniqueItems, big integers" => [->(n) { "[#{Array.new(n / 26) { |i| (10**24) + i }.join(",")}]" }, ->(text) { unique(Guildhall::JSON.document(text)) }],
    "uniqueItems, decimals" => [->(n) { "[#{Array.new(n / 10) { |i| "1#{i}.5" }.join(",")}]" }, ->(text) { unique(DECIMALS.decode(text)) }],
    "uniqueItems, equal from the start" => [->(n) { "[#{(["1"] * (n / 2)).join(",")}]" }, ->(text) { unique(Guildhall::JSON.document(text)) }],
    "a CSV's wide header" => [->(n) { "#{Array.new(n / 8) { |i| "c#{i}" }.join(",")}\n" }, ->(text) { Guildhall::CSV.decode(text) }],
    "directives of YAML" => [->(n) { "#{Array.new(n / 16) { |i| "%TAG !a#{i}! x\n" }.join}--- a\n" }, ->(text) { refused { Guildhall::YAML.decode(text) } }],
    "aliases of YAML" => [lambda { |n|
      "a0: &a0 x\n#{Array.new(n / 60) { |i| "a#{i + 1}: &a#{i + 1} [#{(["*a#{i}"] * 9).join(",")}]\n" }.join}"
    }, ->(text) { refused { Guildhall::YAML.new(aliases: true).decode(text) } }]
  }.freeze

  class << self
    def unique(value) = Guildhall::Schema.new({"uniqueItems" => true}).validator.valid?(value)

    def refused
      yield
      raise "not refused"
    rescue Guildhall::DecodeError
      nil
    end

    # Integers whose product with the golden ratio's bits, by which much is hashed, ends alike.
    def colliding(count)
      factor = 0x9e3779b97f4a7c15
      inverse = 6.times.inject(factor) { |i, _| i * (2 - (factor * i)) & ((1 << 64) - 1) }
      mask = (1 << (count * 2).bit_length) - 1
      found = (1..).lazy.map { |high| ((high << 32) | (high & mask)) * inverse & ((1 << 64) - 1) }
      found.map { |number| number >= 1 << 63 ? number - (1 << 64) : number }.first(count)
    end
  end
end
