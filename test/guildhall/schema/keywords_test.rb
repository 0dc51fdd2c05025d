# frozen_string_literal: true

require "test_helper"
require "support/schema_cases"

# Each keyword: what it accepts, what it refuses, and what it says nothing about.
class SchemaKeywordsTest < GuildhallTest
  include SchemaCases

  HUGE = 98_249_283_749_234_923_498_293_171_823_948_729_348_710_298_301_928_331
  # keyword's name in a test, schema, accepted, refused
  CASES = {
    boolean_true: [true, [1, nil, {}], []],
    boolean_false: [false, [], [1, nil, {}, []]],
    empty: [{}, [1, nil, {}, [], "a"], []],
    type_null: [{"type" => "null"}, [nil], [0, "", false, [], {}]],
    type_boolean: [{"type" => "boolean"}, [true, false], [0, "true", nil]],
    type_integer: [{"type" => "integer"}, [1, -1, 1.0, HUGE], [1.5, "1", nil, true]],
    type_number: [{"type" => "number"}, [1, 1.5, HUGE, -0.0], ["1", nil, true, [1]]],
    type_string: [{"type" => "string"}, ["", "ü", "\"\n\\"], [1, nil, ["a"]]],
    type_array: [{"type" => "array"}, [[], [1]], [{}, "a", nil]],
    type_object: [{"type" => "object"}, [{}, {"a" => 1}], [[], "a", nil]],
    type_list: [{"type" => %w[integer null]}, [1, nil], ["a", 1.5, {}]],
    enum: [{"enum" => ["a", 1, nil, [1, {"x" => "ü"}], {"k" => [nil]}]}, ["a", 1, 1.0, nil, [1, {"x" => "ü"}], {"k" => [nil]}],
           ["b", 2, true, [1], [1, {"x" => "u"}], [1, {"y" => "ü"}], {"k" => []}, {"k" => [nil], "l" => 1}, {}]],
    enum_booleans: [{"enum" => [false, 0]}, [false, 0, 0.0], [true, 1, nil, ""]],
    enum_escapes: [{"enum" => ["a\nb", "\u{1F600}"]}, ["a\nb", "\u{1F600}"], ["a\\nb", "\u{1F601}"]],
    const: [{"const" => {"a" => [1, "b"]}}, [{"a" => [1, "b"]}, {"a" => [1.0, "b"]}],
            [{"a" => [1]}, [1], nil, {"a" => [1, "b"], "c" => 1}]],
    const_false: [{"const" => false}, [false], [0, nil, true]],
    const_zero: [{"const" => 0}, [0, 0.0, -0.0], [false, nil, ""]],
    minimum: [{"minimum" => 1.1}, [1.1, 2, HUGE, "a", nil], [1, 0.5, -HUGE]],
    minimum_huge: [{"minimum" => HUGE}, [HUGE, HUGE + 1], [HUGE - 1, 1, 1.5]],
    maximum: [{"maximum" => 9_007_199_254_740_993}, [9_007_199_254_740_993, 1, -1e300], [9_007_199_254_740_994, HUGE, 1e300]],
    maximum_float: [{"maximum" => 3.0}, [3, 3.0, -5], [3.001, 4]],
    exclusive_minimum: [{"exclusiveMinimum" => 1}, [1.0001, 2], [1, 1.0, 0]],
    exclusive_maximum: [{"exclusiveMaximum" => 1}, [0.9999, 0], [1, 1.0, 2]],
    multiple_of: [{"multipleOf" => 2}, [4, 0, -2, 4.0, "a", HUGE - 1], [1, 0.5, HUGE]],
    multiple_of_decimal: [{"multipleOf" => 0.01}, [1, 0.07, 4.35, 19.99, 0], [0.001, 19.995]],
    multiple_of_tiny: [{"multipleOf" => 1e-8}, [12_391_239_123, 0.5], [1e-9]],
    min_length: [{"minLength" => 2}, %w[ab üü abc] + [1, nil], ["a", "", "ü", "\u{1F600}"]],
    max_length: [{"maxLength" => 2}, ["ab", "üü", "\u{1F600}\u{1F600}", "\n\n", 100], %w[abc üüü]],
    length_float: [{"minLength" => 2.0}, ["ab"], ["a"]],
    pattern: [{"pattern" => "^a+$"}, ["a", "aaa", 1, nil], ["b", "ab", "a\nb", ""]],
    pattern_unanchored: [{"pattern" => "b|\\d"}, %w[abc x1], %w[acd ٣]],
    min_items: [{"minItems" => 1}, [[1], "", {}], [[]]],
    max_items: [{"maxItems" => 1}, [[], [1], "abc"], [[1, 2]]],
    unique_items: [{"uniqueItems" => true}, [[], [1], [1, "1", true, nil], [{"a" => 1}, {"a" => 2}], [[1], [2]], [0, false], [1, [1]]],
                   [[1, 1], [1, 1.0], ["a", "b", "a"], [{"a" => 1, "b" => 2}, {"b" => 2, "a" => 1.0}], [[1, [2]], [1, [2]]], [nil, nil],
                    [*0..100, 50], ["\u{1F600}", "😀"]]],
    items: [{"items" => {"type" => "integer"}}, [[], [1, 2], {"0" => "a"}, nil], [[1, "a"], [nil]]],
    prefix_items: [{"prefixItems" => [{"type" => "integer"}, {"type" => "string"}]}, [[], [1], [1, "a"], [1, "a", nil]], [["a"], [1, 2]]],
    prefix_and_rest: [{"prefixItems" => [true], "items" => false}, [[], [1]], [[1, 2]]],
    contains: [{"contains" => {"const" => 5}}, [[5], [1, 5], "a"], [[], [1, 2]]],
    contains_counts: [{"contains" => {"const" => 5}, "minContains" => 2, "maxContains" => 3}, [[5, 5], [5, 1, 5, 5]],
                      [[5], [5, 5, 5, 5], []]],
    contains_none: [{"contains" => {"const" => 5}, "minContains" => 0}, [[], [1], [5]], []],
    min_properties: [{"minProperties" => 1}, [{"a" => 1}, [], ""], [{}]],
    max_properties: [{"maxProperties" => 1}, [{}, {"a" => 1}, [1, 2]], [{"a" => 1, "b" => 2}]],
    properties: [{"properties" => {"a" => {"type" => "integer"}, "b\"\u{e9}" => false}}, [{}, {"a" => 1}, {"c" => "x"}, [], "a"],
                 [{"a" => "x"}, {"b\"\u{e9}" => 1}]],
    required: [{"required" => %w[a b]}, [{"a" => 1, "b" => nil}, [], nil], [{}, {"a" => 1}, {"b" => 1}]],
    required_escaped: [{"required" => ["a\nb"]}, [{"a\nb" => 1}], [{"anb" => 1}]],
    pattern_properties: [{"patternProperties" => {"^f.*o$" => {"type" => "integer"}, "x" => {"minimum" => 3}}},
                         [{"foo" => 1}, {"bar" => "a"}, {"fxo" => 3}], [{"foo" => "a"}, {"fxo" => 2}, {"ax" => 1}]],
    additional_properties: [{"properties" => {"a" => true}, "patternProperties" => {"^b" => true}, "additionalProperties" => false},
                            [{"a" => 1, "bc" => 2}, {}, [1]], [{"c" => 1}, {"a" => 1, "ab" => 2}]],
    additional_schema: [{"additionalProperties" => {"type" => "string"}}, [{"a" => "b"}], [{"a" => 1}]],
    property_names: [{"propertyNames" => {"maxLength" => 3, "pattern" => "^[a-zü]+$"}}, [{"abc" => 1}, {"üü" => 1}, {}],
                     [{"abcd" => 1}, {"A" => 1}]],
    dependent_required: [{"dependentRequired" => {"a" => %w[b c]}}, [{}, {"b" => 1}, {"a" => 1, "b" => 1, "c" => 1}, []],
                         [{"a" => 1}, {"a" => 1, "b" => 2}]],
    dependent_schemas: [{"dependentSchemas" => {"a" => {"required" => ["b"]}, "c" => false}}, [{}, {"a" => 1, "b" => 1}],
                        [{"a" => 1}, {"c" => 1}]],
    dependencies: [{"dependencies" => {"a" => ["b"], "c" => {"maxProperties" => 1}}}, [{"a" => 1, "b" => 2}, {"c" => 1}],
                   [{"a" => 1}, {"c" => 1, "d" => 1}]],
    all_of: [{"allOf" => [{"minimum" => 1}, {"maximum" => 3}]}, [1, 3, "a"], [0, 4]],
    any_of: [{"anyOf" => [{"type" => "integer"}, {"minimum" => 2}]}, [1, 2.5, "a"], [1.5]],
    one_of: [{"oneOf" => [{"type" => "integer"}, {"minimum" => 2}]}, [1, 2.5], [3, 1.5]],
    not: [{"not" => {"type" => "integer"}}, ["a", 1.5, nil], [1]],
    not_not: [{"not" => {"not" => {}}}, [1, nil], []],
    if_then_else: [{"if" => {"minimum" => 10}, "then" => {"multipleOf" => 2}, "else" => {"maximum" => 5}}, [12, 5, 1], [11, 6]],
    then_alone: [{"then" => false}, [1], []]
  }.freeze

  CASES.each_key do |name|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{name} = check(:#{name}) # def test_enum = check(:enum)
    RUBY
  end

  # The same under draft-07, whose own keywords differ for arrays.
  def test_draft7_items
    schema = {"items" => [{"type" => "integer"}], "additionalItems" => {"type" => "string"}}
    assert_valid(schema, [], [1], [1, "a"], draft: "7")
    assert_invalid(schema, ["a"], [1, 2], draft: "7")
    assert_valid({"items" => {"type" => "integer"}, "additionalItems" => false}, [1, 2], draft: "7")
  end

  def test_draft7_ignores_what_stands_beside_a_reference
    schema = {"definitions" => {"a" => {"type" => "array"}}, "properties" => {"x" => {"$ref" => "#/definitions/a", "maxItems" => 1}}}
    assert_valid(schema, {"x" => [1, 2, 3]}, draft: "7")
    assert_invalid(schema, {"x" => "a"}, draft: "7")
    assert_invalid(schema, {"x" => [1, 2]}, draft: "2020-12")
  end

  def test_draft7_does_not_know_later_keywords
    later = {"dependentRequired" => {"a" => ["b"]}, "unevaluatedProperties" => false, "prefixItems" => [false]}
    assert_valid(later, {"a" => 1}, [1], draft: "7")
  end

  def test_schemas_say_what_is_wrong_with_them
    {
      {"type" => "strin"} => '#: type names "strin", an unknown type',
      {"properties" => {"a" => {"minLength" => -1}}} => "#/properties/a: minLength is a non-negative integer",
      {"items" => {"multipleOf" => 0}} => "#/items: multipleOf is a number above 0",
      {"pattern" => "(a"} => "#: pattern is a regular expression",
      {"allOf" => []} => "#: allOf is an array of schemas",
      {"required" => "a"} => "#: required is an array of names",
      {"$ref" => "#/$defs/none"} => "#: /$defs/none is an unresolved $ref in #",
      {"$ref" => "http://elsewhere/x"} => "neither in the schema nor in the registry",
      {"$schema" => "http://json-schema.org/draft-03/schema#"} => "is not known",
      {"allOf" => [{"$ref" => "#"}]} => "refers to itself without end",
      {"properties" => {"a" => 1}} => "#/properties/a: a schema is an object, true or false, not 1"
    }.each do |schema, message|
      error = assert_raises(Guildhall::SchemaError, schema.to_s) { validator(schema) }
      assert_includes error.message, message
    end
  end

  private

  def check(name)
    schema, accepted, refused = CASES.fetch(name)
    assert_valid(schema, *accepted)
    assert_invalid(schema, *refused)
  end
end
