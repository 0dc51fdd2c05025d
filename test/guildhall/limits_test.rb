# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/codecs"
require "guildhall/schema"

# docs/limits.md says what the code does: each row of its tables is tried.
class LimitsTest < GuildhallTest
  PAGE = File.read(File.expand_path("../../docs/limits.md", __dir__))
  REFUSED = [Guildhall::DecodeError, Guildhall::Schema::LimitError, Regexp::TimeoutError].freeze
  OPTIONS = PAGE[/## Limits that an option sets.*?(?=^## )/m].scan(/^\| `(\w+)` \| `(\w+)` \| ([\d,]+) \|\s*([\d,]*)\s*\| (.*) \|$/)
    .map { |codec, option, default, most, beyond| [codec, option.to_sym, default.delete(",").to_i, most.empty? ? nil : most.delete(",").to_i, beyond] }
  FIXED = PAGE[/## Fixed limits.*/m].scan(/^\| (\w+: .*?) \| ([\d,]+).*? \| (.*) \|$/).to_h { |what, limit, beyond| [what, [limit.delete(",").to_i, beyond]] }

  def test_every_option_that_limits_is_listed
    listed = OPTIONS.map { |codec, option,| [codec, option] }
    found = codecs.keys.flat_map { |codec| limiting_options(codec).map { |option| [codec, option] } }
    assert_equal found.sort, listed.sort
  end

  def test_defaults
    OPTIONS.each do |codec, option, default, _, beyond|
      error = REFUSED.find { |type| beyond.include?(type.name.split("::").last) } || Guildhall::DecodeError
      try = codecs.fetch(codec).fetch(option)
      next assert_equal(default, try.call(nil), "#{codec} #{option}") if codec == "Schema"

      assert_nil raised { try.call(default) }, "#{codec} #{option}: #{default} is within the limit"
      assert_kind_of error, raised { try.call(default + 1) }, "#{codec} #{option}: #{default + 1} is beyond the limit"
    end
  end

  def test_the_most_that_can_be_set
    OPTIONS.each do |codec, option, _, most|
      next unless most

      assert made(codec, option => most)
      assert_includes assert_raises(Guildhall::ArgumentError, "#{codec} #{option}") { made(codec, option => most + 1) }.message, option.to_s
    end
  end

  def test_fixed_limits
    assert_equal fixed.keys.sort, FIXED.keys.sort
    fixed.each do |what, try|
      limit, beyond = FIXED.fetch(what)
      assert_equal [true, false], [try.call(limit), try.call(limit + 1)], "#{what}: #{limit}, #{beyond}"
    end
  end

  private

  # What takes as much as is asked for, by codec and option.
  def codecs
    {
      "JSON" => {max_bytes: ->(n) { Guildhall::JSON.document("1#{" " * (n - 1)}") }, max_nesting: ->(n) { Guildhall::JSON.decode("#{"[" * n}1#{"]" * n}") },
                 max_digits: ->(n) { Guildhall::JSON.decode("1" * n) }},
      "MessagePack" => {max_bytes: ->(n) { Guildhall::MessagePack.decode("\xC6".b + [n - 5].pack("N") + ("x" * (n - 5)).b) },
                        max_nesting: ->(n) { Guildhall::MessagePack.decode(("\x91".b * n) + "\x01".b) }},
      "Avro" => {max_bytes: ->(n) { Guildhall::Avro.new("bytes").decode(long(n - 4) + ("x" * (n - 4)).b) },
                 max_nesting: ->(n) { Guildhall::Avro.new(SELF).decode(("\x02".b * ((n - 1) / 2)) + ("\x00".b * ((n + 1) / 2))) }, # two levels at a time
                 max_empty_items: ->(n) { Guildhall::Avro.new({type: "array", items: "null"}).decode(long(n) + "\x00".b) }},
      "CSV" => {max_bytes: ->(n) { Guildhall::CSV.new(headers: false, quote_char: nil).decode("x" * n) },
                max_digits: ->(n) { Guildhall::CSV.new(headers: false, converters: :integer).decode("1" * n) },
                max_missing: ->(n) { Guildhall::CSV.decode("#{Array.new(1_000) { "c#{it}" }.join(",")}\n#{"1\n" * ((100_000 + (1_000 * n)) / (999 - n))}") }},
      "YAML" => {max_bytes: ->(n) { Guildhall::YAML.decode("- x #{"#" * (n - 4)}") }, max_nesting: ->(n) { Guildhall::YAML.decode("#{"[" * n}#{"]" * n}") },
                 max_digits: ->(n) { Guildhall::YAML.decode("- #{"1" * n}") },
                 max_aliased: ->(n) { Guildhall::YAML.new(aliases: true).decode("- &a 1\n#{"- *a\n" * n}") }},
      "Text" => {max_bytes: ->(n) { Guildhall::Text.decode("x" * n) }},
      "Schema" => {work_limit: ->(_) { Guildhall::Schema.new({}).options.work_limit }, max_digits: ->(_) { Guildhall::Schema.new({}).options.max_digits }, regexp_timeout: ->(_) { Guildhall::Schema.new({}).options.regexp_timeout }}
    }
  end

  SELF = {type: "record", name: "Self", fields: [{name: "inside", type: {type: "array", items: "Self"}}]}.freeze

  def long(number) = Guildhall::Avro.new("long").encode(number)

  def limiting_options(codec)
    return %i[work_limit regexp_timeout max_digits] if codec == "Schema"

    codecs.fetch(codec).keys.select { |option| made(codec, option => 50) }
  end

  def made(codec, options)
    type = Guildhall.const_get(codec)
    case codec
    when "Avro" then type.new("int", **options)
    when "Schema" then type.new({}, **options)
    else type.new(**options)
    end
  end

  # Whether so much is accepted.
  def fixed
    decimal = ->(bytes) { Guildhall::Avro.new({type: "bytes", logicalType: "big-decimal"}).decode(long(bytes + long(bytes).bytesize + 1) + long(bytes) + ("\x01" * bytes).b + long(0)) }
    {
      "Avro: bytes of a decimal" => ->(n) { decimal.call(n).is_a?(BigDecimal) },
      "Avro: fields of records that take no byte (nulls, the reader's defaults), for each byte of the payload" => ->(n) { raised { unpaid(n) }.nil? },
      "Avro: digits of a decimal's type" => ->(n) { raised { Guildhall::Avro.new({type: "bytes", logicalType: "decimal", precision: n, scale: 0}) }.nil? },
      "Avro: arrays and objects within each other in a schema's JSON; a record takes three" => lambda { |n|
        raised { Guildhall::Avro.new((1..n).reduce("int") { |inner, _| {type: "array", items: inner} }) }.nil?
      },
      "Avro: values compared with types to find the branch of one union" => ->(n) { n <= comparisons },
      "YAML: directives (lines that begin with `%`)" => ->(n) { raised { Guildhall::YAML.decode("#{Array.new(n) { "%TAG !a#{it}! x\n" }.join}--- a\n") }.nil? },
      "JSONPath: parentheses, filters and functions inside each other" => ->(n) { raised { Guildhall::JSON::Path.new("$[?#{"(" * (n - 1)}@.a#{")" * (n - 1)}]") }.nil? },
      "JSONPath: characters of a regular expression of `match` and `search`" => ->(n) { match("a" * n, "a" * n) },
      "JSONPath: groups of such an expression inside each other" => ->(n) { match("a", "#{"(" * n}a#{")" * n}") },
      "JSONPath: seconds of one match" => ->(n) { n <= Guildhall::JSON::Path::IRegexp.compile("a", whole: true).timeout },
      "Schema: parentheses inside each other in a `pattern`" => lambda { |n|
        raised { Guildhall::Schema.new({"pattern" => "#{"(" * n}a#{")" * n}"}).validator.valid?("a") }.nil?
      },
      "Schema: schemas and values inside each other" => ->(n) { raised { validator.valid?((1...n).reduce(1) { |inner, _| [inner] }) }.nil? }
    }
  end

  # A thousand items of a byte each, and as many fields without one as 65,536 and so many for each byte are.
  def unpaid(each)
    nulls = Array.new((65_536 + (each * 1_003)) / 1_000) { |i| {name: "f#{i}", type: "null"} }
    schema = {type: "array", items: {type: "record", name: "R", fields: [{name: "n", type: "int"}, *nulls]}}
    Guildhall::Avro.new(schema).decode("#{long(1_000)}#{"\0" * 1_001}")
  end

  def comparisons = File.read(File.expand_path("../../ext/guildhall/avro/fit.c", __dir__))[/define LOOKS (\d+)/, 1].to_i

  def match(text, expression)
    document = Guildhall::JSON.document(Guildhall::JSON.encode([{"x" => text, "p" => expression}]))
    document.path("$[?match(@.x, @.p)]").any?
  end

  def validator = Guildhall::Schema.new({"items" => {"$ref" => "#"}}, work_limit: 10_000_000).validator

  def raised
    yield
    nil
  rescue StandardError => error
    error
  end
end
