# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/msgpack"
require "guildhall/schema"
require "guildhall/pipeline"
require "support/sanitizers"

class SchemaTest < GuildhallTest
  EVENT = {
    "type" => "object", "required" => %w[id user],
    "properties" => {"id" => {"type" => "integer", "minimum" => 1},
                     "user" => {"properties" => {"e-mail/x" => {"format" => "email"}, "roles" => {"items" => {"enum" => %w[admin guest]}}}}}
  }.freeze

  # An own keyword and an own format.
  module Divides
    def self.call(value, operand) = !value.is_a?(Integer) || (value % operand).zero? || "is no multiple of #{operand}"
  end

  # Looks at what it is given.
  module Frozen
    def self.call(value, _) = value.frozen? && (!value.is_a?(Hash) || value.values.all?(&:frozen?))
  end

  # Calls a validator from a validator.
  class Inner
    def initialize
      @validator = Guildhall::Schema.new({"pattern" => "^a"}).validator
      freeze
    end

    def call(value, _) = @validator.valid?(value)
  end

  def setup
    @validator = Guildhall::Schema.new(EVENT).validator
  end

  def test_verdicts
    assert @validator.valid?({"id" => 1, "user" => {}})
    refute @validator.valid?({"id" => 0, "user" => {}})
    refute @validator.valid?(Guildhall::JSON.document('{"id": 1}'))
    assert @validator.valid?(Guildhall::JSON.document('{"id": 1, "user": null}'))
  end

  def test_parts_of_documents
    document = Guildhall::JSON.document('{"a": {"id": 3, "user": 1}, "b": [{"id": 0, "user": 1}]}')
    assert @validator.valid?(document["a"])
    assert_equal ["/id is less than 1"], @validator.errors(document["b"][0]).map(&:to_s)
  end

  # As `merge`, `select`, `values` and the like bring them.
  def test_documents_in_hashes_and_arrays
    schema = {"type" => "object", "required" => ["user"], "properties" => {
      "user" => {"type" => "object", "required" => ["name"], "enum" => [{"name" => "x"}]}, "list" => {"type" => "array", "uniqueItems" => true, "contains" => {"type" => "object"}}
    }, "dependentSchemas" => {"list" => {"maxProperties" => 2}}, "unevaluatedProperties" => false}
    validator = Guildhall::Schema.new(schema).validator(all: true)
    text = '{"user": {"name": "x"}, "list": [{"a": 1}, {"a": 2}], "same": [[{"b": 1}], [{"b": 1.0}]]}'
    plain = JSON.parse(text)
    [Guildhall::JSON.document(text), Guildhall::MessagePack.document(Guildhall::MessagePack.encode(plain))].each do |document|
      [->(x) { x.slice("user", "list") }, ->(x) { {"user" => x["user"], "list" => x["list"].first(2)} }, ->(x) { {"user" => x["user"], "list" => x["same"].first(2)} },
       ->(x) { {"user" => x["list"][0]} }, ->(x) { {"user" => x["user"], "list" => [x["list"][0], {"a" => 1}]} }, ->(x) { x.merge({"list" => x["same"]}) }].each do |made|
        assert_equal validator.errors(made.call(plain)).map(&:to_s), validator.errors(made.call(document)).map(&:to_s)
        assert_equal validator.valid?(made.call(plain)), validator.valid?(made.call(document))
      end
    end
  end

  def test_documents_of_other_formats
    document = Guildhall::MessagePack.lazy.decode(Guildhall::MessagePack.encode({"id" => 0, "user" => {}}))
    assert_equal ["/id is less than 1"], @validator.errors(document).map(&:to_s)
  end

  def test_errors_as_data
    value = {"id" => 0, "user" => {"e-mail/x" => "nobody", "roles" => %w[admin root]}}
    [value, Guildhall::JSON.document(JSON.generate(value))].each do |form|
      errors = @validator.errors(form)
      assert_equal([["/id", "#/properties/id/minimum", "minimum", "is less than 1"],
                    ["/user/e-mail~1x", "#/properties/user/properties/e-mail~1x/format", "format", "is not a valid email"],
                    ["/user/roles/1", "#/properties/user/properties/roles/items/enum", "enum", 'is not one of "admin", "guest"']],
        errors.map { |error| [error.instance_location, error.schema_location, error.keyword, error.message] })
      assert Ractor.shareable?(errors.first)
      assert_equal errors.first, @validator.error(form)
    end
  end

  def test_no_error
    assert_nil @validator.error({"id" => 1, "user" => 1})
    assert_empty @validator.errors({"id" => 1, "user" => 1})
  end

  def test_missing_properties_one_error_each
    assert_equal ['the value is missing required property "id"', 'the value is missing required property "user"'], @validator.errors({}).map(&:to_s)
  end

  def test_causes_of_one_of
    validator = Guildhall::Schema.new({"oneOf" => [{"type" => "integer"}, {"maxLength" => 1}]}).validator
    error = validator.error("ab")
    assert_equal "oneOf", error.keyword
    assert_equal %w[#/oneOf/0/type #/oneOf/1/maxLength], error.causes.map(&:schema_location)
    assert_includes validator.error(3).message, "more than one"
  end

  def test_call_answers_the_first_error_or_all
    assert_equal true, @validator.call({"id" => 1, "user" => 1})
    assert_equal 1, @validator.call({}).size
    assert_equal 2, @validator.all.call({}).size
    assert_equal 2, Guildhall::Schema.new(EVENT).validator(all: true).call({}).size
  end

  def test_validate_raises
    value = {"id" => 1, "user" => {}}
    assert_same value, @validator.validate!(value)
    error = assert_raises(Guildhall::ValidationError) { @validator.validate!({}) }
    assert_equal "required", error.errors.first.keyword
    assert_includes error.message, 'is missing required property "id"'
  end

  def test_symbol_keys
    assert @validator.valid?({id: 1, user: {}})
    assert_equal ["/user/roles/0"], @validator.errors({id: 1, user: {roles: ["x"]}}).map(&:instance_location)
    assert Guildhall::Schema.new({"const" => {"a" => 1}}).validator.valid?(Guildhall::JSON.new(symbolize_names: true).document('{"a": 1}'))
  end

  def test_the_schema_can_be_text_or_a_document_or_have_symbols
    ['{"type": "integer"}', Guildhall::JSON.document('{"type": "integer"}'), {type: :integer}].each do |source|
      assert Guildhall::Schema.new(source).validator.valid?(1)
      refute Guildhall::Schema.new(source).validator.valid?("1")
    end
    assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new("{") }
    assert_raises(Guildhall::SchemaError) { Guildhall::Schema.new(1) }
  end

  def test_does_not_freeze_the_callers_schema
    source = {"enum" => [+"a"], "properties" => {}}
    Guildhall::Schema.new(source)
    refute_predicate source["enum"].first, :frozen?
  end

  def test_values_that_json_does_not_know
    refute Guildhall::Schema.new({"type" => %w[null boolean integer number string array object]}).validator.valid?(:symbol)
    assert Guildhall::Schema.new({}).validator.valid?(Time.at(0))
  end

  def test_own_keywords
    schema = Guildhall::Schema.new({"items" => {"divides" => 3}}, keywords: {"divides" => Divides})
    assert schema.validator.valid?([3, 6, "a"])
    assert_equal ["/1 is no multiple of 3"], schema.validator.errors(Guildhall::JSON.document("[3, 4]")).map(&:to_s)
    assert Guildhall::Schema.new({"x" => 1}, keywords: {"x" => Frozen}).validator.valid?(Guildhall::JSON.document('{"a": {"b": "c"}}'))
  end

  def test_a_validator_inside_a_keyword
    schema = Guildhall::Schema.new({"items" => {"x" => 1, "pattern" => "b$"}}, keywords: {"x" => Inner.new})
    assert schema.validator.valid?(Guildhall::JSON.document('["ab", "a\nb"]'))
    refute schema.validator.valid?(Guildhall::JSON.document('["ab", "cb"]'))
  end

  def test_what_a_keyword_raises_goes_through
    schema = Guildhall::Schema.new({"x" => 1}, keywords: {"x" => Ractor.make_shareable(Class.new do
      def call(*)
        raise(IOError, "x")
      end
    end.new)})
    assert_raises(IOError) { schema.validator.valid?(1) }
  end

  def test_options_are_checked_together
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.new({}, draft: "3", work_limit: 0, regexp_timeout: -1) }
    %w[draft work_limit regexp_timeout].each { |option| assert_includes error.message, option }
    assert_raises(Guildhall::NotShareableError) do
      Guildhall::Schema.new({}, formats: {"x" => Struct.new(:a) do
        def call(_)
          true
        end
      end.new(+"")})
    end
  end

  def test_work_is_limited
    explosion = {"$defs" => {"a0" => {"type" => "string"}}}
    (1..20).each do |level|
      explosion["$defs"]["a#{level}"] = {"oneOf" => [{"$ref" => "#/$defs/a#{level - 1}"}, {"$ref" => "#/$defs/a#{level - 1}"}]}
    end
    validator = Guildhall::Schema.new({**explosion, "$ref" => "#/$defs/a20"}, work_limit: 10_000).validator
    error = assert_raises(Guildhall::Schema::LimitError) { validator.valid?(1) }
    assert_includes error.message, "10000 steps"
    assert_raises(Guildhall::Schema::LimitError) { validator.errors(1) }
  end

  def test_depth_is_limited
    deep = 2_000.times.reduce([]) { |inner, _| [inner] }
    validator = Guildhall::Schema.new({"items" => {"$ref" => "#"}}).validator
    assert_raises(Guildhall::Schema::LimitError) { validator.valid?(deep) }
    assert_raises(Guildhall::Schema::LimitError) { Fiber.new { validator.valid?(deep) }.resume } unless Sanitizers.on?
    text = "#{"[" * 1_500}#{"]" * 1_500}"
    document = Guildhall::JSON.new(max_nesting: 2_000).document(text)
    assert_raises(Guildhall::Schema::LimitError) { validator.valid?(document) }
  end

  def test_unique_items_of_deep_values_end_too
    deep = 5_000.times.reduce(1) { |inner, _| [inner] }
    assert_raises(Guildhall::Schema::LimitError) { Guildhall::Schema.new({"uniqueItems" => true}).validator.valid?([deep, deep]) }
  end

  def test_regular_expressions_are_limited_in_time
    validator = Guildhall::Schema.new({"pattern" => "^(a|a)*\\1$"}, regexp_timeout: 0.05).validator
    assert_raises(Guildhall::Schema::LimitError) { validator.valid?("#{"a" * 40}b") }
    assert_raises(Guildhall::Schema::LimitError) { validator.errors("#{"a" * 40}b") }
  end

  def test_a_long_validation_can_be_interrupted
    validator = Guildhall::Schema.new({"uniqueItems" => true, "items" => {"allOf" => [{}, {}]}}, work_limit: 10**12).validator
    thread = Thread.new do
      Thread.current.report_on_exception = false
      loop { validator.valid?(Array.new(1_000) { |index| {"a" => index} }) }
    end
    Thread.pass
    thread.raise(Interrupt)
    assert_raises(Interrupt) { thread.join(10) || flunk("not interrupted") }
  end

  def test_crosses_ractors
    source = JSON.generate(EVENT).freeze
    ractors = Array.new(3) do |index|
      Ractor.new(@validator, source, index) do |validator, schema, id|
        document = Guildhall::JSON.document(%({"id": #{id}, "user": {"roles": ["admin"]}}))
        [validator.valid?(document), Guildhall::Schema.new(schema).validator.valid?(document), validator.errors(document).map(&:to_s)]
      end
    end
    verdicts = ractors.map { |ractor| ractor_value(ractor) }
    assert_equal [[false, false, ["/id is less than 1"]], [true, true, []], [true, true, []]], verdicts
  end

  def test_eight_ractors_at_once
    out = assert_ruby(<<~'RUBY')
      require "guildhall/schema"
      Warning[:experimental] = false
      source = {"properties" => {"id" => {"type" => "integer", "multipleOf" => 3}, "tags" => {"uniqueItems" => true, "items" => {"pattern" => "^t[0-9]+$"}}},
                "required" => ["id"], "oneOf" => [{"properties" => {"kind" => {"const" => "a"}}}, {"properties" => {"kind" => {"format" => "date"}}}],
                "unevaluatedProperties" => {"type" => "null"}}
      validator = Guildhall::Schema.new(source).validator
      documents = Ractor.make_shareable(Array.new(60) { |n| Guildhall::JSON.document(%({"id": #{n}, "kind": "#{n.even? ? "a" : "2024-01-01"}", "tags": ["t#{n}", "t#{n % 7}"]})) })
      expected = Ractor.make_shareable(documents.map { |document| [validator.valid?(document), validator.errors(document).map(&:to_s)] })
      ractors = Array.new(8) do
        Ractor.new(validator, documents, expected) do |shared, list, verdicts|
          100.times.all? { list.each_index.all? { |n| shared.valid?(list[n]) == verdicts[n][0] && shared.errors(list[n].decode).map(&:to_s) == verdicts[n][1] } }
        end
      end
      3.times { GC.compact } if RUBY_VERSION.to_f >= 4 # 3.4 crashes when it compacts while several Ractors run Ruby
      p ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }.all?, expected.count { |valid, _| valid }
    RUBY
    agreed, valid = out.split
    assert_equal "true", agreed
    assert_includes 5..55, valid.to_i
  end

  def test_in_a_pipeline
    pipeline = Guildhall::JSON.lazy >> @validator >> Guildhall::Pipeline::Map.new(Ractor.make_shareable(Class.new {
      def call(document)
        document["id"]
      end
    }.new))
    assert_equal %i[decode validate map], pipeline.names
    assert_equal 7, pipeline.call('{"id": 7, "user": 1}')
    error = assert_raises(Guildhall::ValidationError) { pipeline.call('{"id": 0, "user": 1}') }
    assert_equal "validate failed: /id is less than 1", error.message
    assert_equal :validate, Guildhall::Pipeline.stage_of(error)
  end

  def test_makes_no_objects_of_what_is_valid
    document = Guildhall::JSON.document(JSON.generate({"id" => 1,
"user" => {"e-mail/x" => "a@b.c", "roles" => %w[admin guest] * 50, "more" => {"a" => [1.5, "x\n"]}}}))
    assert @validator.valid?(document)
    before = GC.stat(:total_allocated_objects)
    100.times { @validator.valid?(document) }
    assert_operator GC.stat(:total_allocated_objects) - before, :<=, 10
  end

  def test_survives_gc_stress_and_compaction
    assert_ruby(<<~'RUBY', timeout: 300, gems: false)
      require "guildhall/schema"
      require "json"
      source = {"properties" => {"a" => {"enum" => [[1, {"b" => 2}], "x"]}, "c" => {"pattern" => "^é"}}, "patternProperties" => {"^d" => {"multipleOf" => 0.1}},
                "required" => ["a"], "anyOf" => [{"required" => ["zz"]}, {"properties" => {"d1" => {"format" => "regex"}}}], "unevaluatedProperties" => {"uniqueItems" => true}}
      validator = Guildhall::Schema.new(source, work_limit: 10**12).validator # the time of these collections counts as work
      text = JSON.generate({"a" => [1, {"b" => 2}], "c" => "\u00e9\n", "d" => 0.3, "e" => [{"f" => 1}, {"f" => 2}]}).freeze
      GC.verify_compaction_references(expand_heap: true, toward: :empty) if GC.respond_to?(:verify_compaction_references)
      GC.stress = true
      5.times do
        abort("verdict") unless validator.valid?(Guildhall::JSON.document(text)) && validator.valid?(JSON.parse(text))
        abort("errors") unless validator.errors(Guildhall::JSON.document('{"c": "x", "e": [1, 1]}')).size == 3
      end
      GC.stress = false
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      documents = Array.new(2_000) { |n| Guildhall::JSON.document(text.sub("0.3", "0.#{n % 10}")) }
      3.times { GC.compact if GC.respond_to?(:compact) }
      abort("compaction") unless documents.all? { |document| validator.valid?(document) }
    RUBY
  end

  def test_formats_and_keywords_can_be_called
    [{formats: 5}, {formats: nil}, {formats: {"isbn" => 5}}, {keywords: nil}, {keywords: {"divides" => 5}}].each do |options|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.new({}, work_limit: 0, **options) }
      assert_match(/#{options.keys.first}.*work_limit/, error.message)
    end
    assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.contract { required "a", Integer, range: 5 } }
  end
end
