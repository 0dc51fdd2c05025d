# frozen_string_literal: true

require "test_helper"

# What is made shareable here by a flag is taken at its word by the virtual machine: all that a shareable object refers to
# has to be shareable as well, and an old object's young ones have to be remembered. Ruby itself looks after both, in a
# process of its own, which it ends where it finds error.
class ConsistencyTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "guildhall/codecs"
    require "guildhall/csv"
    require "guildhall/yaml"
    require "guildhall/schema"
    require "guildhall/pipeline"
    ORDER = {"id" => 2**70, "text" => "größer" * 90, "short" => "EUR", "list" => [1, 2.5, 1e300, nil, true, {}], "empty" => [], "more" => {"a" => {"b" => ["c"]}}}
    def check(what, kept)
      GC.verify_internal_consistency
      4.times { GC.start } # what is kept is old by now
      GC.verify_internal_consistency
      abort("not shareable: #{what}") unless Ractor.shareable?(kept)
    end
    # @return what Documents say when all of them is asked for
    def documents(document)
      [document, document.decode, *(document.respond_to?(:keys) ? [document.keys, document.values, document.to_h] : [document.to_a]),
       *document.map { |*, value| value.respond_to?(:dig) && value.respond_to?(:decode) ? documents(value) : value }].freeze
    end
  RUBY

  def test_json
    assert_consistent(<<~'RUBY')
      require "bigdecimal"
      codecs = [Guildhall::JSON, Guildhall::JSON.new(symbolize_names: true), Guildhall::JSON.new(decimal_class: BigDecimal, allow_nan: true)]
      wide = Guildhall::JSON.encode((1..600).to_h { |i| ["key #{i} é", {"n" => i, "s" => "\u00e9" * i}] })
      codecs.each do |codec|
        texts = [Guildhall::JSON.encode(ORDER), wide, Guildhall::JSON.encode([ORDER] * 20), '{"\u00e9\n": "\u00e9\n", "x": 1.25, "y": 12345678901234567890.5}']
        check(codec, [codec, codec.lazy, texts.map { |text| [codec.decode(text), documents(codec.document(text)), documents(codec.document(text).detach)].freeze }.freeze].freeze)
      end
      document = Guildhall::JSON.document(wide)
      1_300.times { |i| document["key #{i} é"] } # makes the index
      check("an index", [document, document.path("$.*.n")].freeze)
    RUBY
  end

  def test_codecs_with_state_of_their_own
    assert_consistent(<<~'RUBY')
      class Named < Guildhall::JSON
        def initialize(name) = (@name = [name, {name => name}.freeze].freeze) && super()
      end
      class NamedPack < Guildhall::MessagePack
        def initialize(name) = (@name = [name, {name => name}.freeze].freeze) && super()
      end
      name = "mine".dup.freeze # frozen, but Ruby has not looked at it yet
      codecs = [Named.new(name), NamedPack.new(name), Named.new(name).lazy, NamedPack.new(name).lazy]
      loose = +"not frozen"
      [Named, NamedPack].each do |codec|
        codec.new(loose)
        abort("taken")
      rescue Guildhall::NotShareableError => error
        abort(error.message) unless error.path == "codec.@name[0]" && !loose.frozen?
      end
      check("a codec with instance variables", [codecs, codecs[0].document("[[]]"), codecs[1].document("\x91\x90".b)].each(&:freeze).freeze)
    RUBY
  end

  def test_message_pack
    assert_consistent(<<~'RUBY')
      class Money
        PACK = ->(money) { money.cents.to_s }
        UNPACK = ->(bytes) { Money.new(bytes) }
        attr_reader :cents
        def initialize(cents) = @cents = cents
      end
      money = Guildhall::MessagePack::ExtensionType.new(5, for: Money, pack: Money::PACK, unpack: Money::UNPACK)
      value = ORDER.merge("id" => 2**64 - 1, "at" => Time.at(1), "later" => Time.at(2**40), "bytes" => "\xff".b * 700, 1 => 2)
      [Guildhall::MessagePack, Guildhall::MessagePack.new(types: [money]), Guildhall::MessagePack.new(symbolize_keys: true, allow_unknown_ext: true)].each do |codec|
        bytes = [codec.encode(value), codec.encode([value] * 20), codec.encode((1..600).to_h { |i| ["key #{i}", [i]] })]
        bytes << "\x92\xc7\x03\x05123\x91\xd4\x05x".b unless codec == Guildhall::MessagePack
        check(codec, [codec, codec.lazy, bytes.map { |text| [codec.decode(text), documents(codec.document(text))].freeze }.freeze].freeze)
      end
    RUBY
  end

  def test_avro
    assert_consistent(<<~'RUBY')
      require "bigdecimal"
      require "date"
      logical = %w[timestamp-millis timestamp-micros local-timestamp-millis time-micros].map { |name| {name: name.tr("-", "_"), type: {type: "long", logicalType: name}} }
      schema = {type: "record", name: "Order", fields: [{name: "id", type: "long"}, {name: "name", type: ["null", "string"]}, *logical,
        {name: "day", type: {type: "int", logicalType: "date"}}, {name: "price", type: {type: "bytes", logicalType: "decimal", precision: 40, scale: 2}},
        {name: "kind", type: {type: "enum", name: "Kind", symbols: %w[A B]}}, {name: "more", type: {type: "map", values: "double"}},
        {name: "next", type: ["null", "Order"], default: nil}]}
      order = {"id" => 2**62, "name" => "größer", "timestamp_millis" => Time.utc(9_999), "timestamp_micros" => Time.utc(1_700), "local_timestamp_millis" => Time.utc(3_000),
        "time_micros" => Guildhall::Avro::TimeOfDay.new(5_000), "day" => Date.new(2024, 2, 29), "price" => BigDecimal("12345678901234567890.25"), "kind" => "B", "more" => {"x" => 1e300}}
      order = order.merge("next" => order)
      [Guildhall::Avro.new(schema), Guildhall::Avro.new(schema, symbolize_names: true), Guildhall::Avro.new(schema, logical_types: false)].each_with_index do |codec, i|
        bytes = Guildhall::Avro.new(schema).encode(order)
        check("Avro #{i}", [codec, codec.lazy, codec.decode(bytes), documents(codec.document(bytes))].freeze)
      end
      single = Guildhall::Avro::SingleObject.new([schema])
      check("single objects", [single, single.lazy, single.decode(single.encode(order)), documents(single.lazy.decode(single.encode(order)))].freeze)
    RUBY
  end

  def test_csv_and_yaml
    assert_consistent(<<~'RUBY')
      text = "id,note\n" + (1..40).map { |i| "#{i},#{"n" * 700}\n" }.join + "41,\"#{"q" * 5_000}\"\n42,#{"z" * 5_000}"
      codecs = [Guildhall::CSV, Guildhall::CSV.new(headers: false), Guildhall::CSV.new(symbolize_names: true, converters: {"id" => :decimal})]
      check("CSV", codecs.map { |codec| codec.decode(text) }.freeze)
      shifted = Array.new(100) { |i| ["#{i}"] }
      shifted.shift # its elements are another Array's
      check("an Array that borrows", Guildhall::Shareable.plain!(shifted))
      yaml = "list: &a [1, 2.5, #{"y" * 3_000}]\nagain: *a\nday: 2024-02-29\nlast: #{"z" * 3_000}"
      check("YAML", [Guildhall::YAML.new(permitted_classes: [Date], aliases: true).decode(yaml), Guildhall::YAML.decode("- #{"x" * 3_000}")].freeze)
    RUBY
  end

  def test_what_cannot_be_shared_leaves_no_flag
    assert_consistent(<<~'RUBY')
      inner = [{"thread" => Thread.current}]
      outer = [inner, ["fine"]]
      inner << outer
      begin
        Guildhall::Shareable.plain!(outer)
        abort("a Thread was shared")
      rescue Ractor::Error, TypeError => error
      end
      abort("said to be shareable") if Ractor.shareable?(outer) || Ractor.shareable?(inner)
      check("nothing of it", nil)
    RUBY
  end

  def test_schemas_and_pipelines
    assert_consistent(<<~'RUBY')
      schema = Guildhall::Schema.new({"required" => ["id"], "properties" => {"short" => {"pattern" => "^E", "enum" => ["EUR", {"a" => 1.5}]}, "list" => {"uniqueItems" => true, "maxItems" => 2}},
        "patternProperties" => {"^m" => {"type" => "object"}}, "dependentRequired" => {"id" => ["none"]}})
      validator = schema.validator
      document = Guildhall::JSON.document(Guildhall::JSON.encode(ORDER))
      errors = validator.errors(document) + validator.errors(ORDER)
      pipeline = Guildhall::JSON.lazy >> validator >> Guildhall.select(Ractor.make_shareable(:itself.to_proc))
      begin pipeline.call(document.to_json); rescue Guildhall::Error; nil end
      check("schemas", [schema, validator, pipeline].freeze)
      abort("no errors") if errors.empty?
    RUBY
  end

  def test_a_pool_and_its_failures
    assert_consistent(<<~'RUBY')
      require "guildhall/pool"
      pool = Guildhall::Pool.new(workers: 2)
      payloads = Array.new(50) { |i| i.odd? ? %({"id": #{i}}) : "{" }
      [Guildhall::JSON, Guildhall::JSON.lazy, Guildhall::MessagePack].each do |codec|
        [true, false].each { |parallel| check(codec, pool.dispatch(payloads, codec, parallel:).tap(&:results).results) }
      end
      batches = Array.new(20) { pool.dispatch(payloads, Guildhall::JSON.lazy) }
      check("batches", batches.map(&:results).freeze)
      pool.shutdown
    RUBY
  end

  private

  def assert_consistent(code)
    assert_equal "done", assert_ruby("#{PRELUDE}\n#{code}\nprint :done", options: ["-Ilib"])
  end
end
