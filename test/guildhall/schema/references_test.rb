# frozen_string_literal: true

require "test_helper"
require "support/schema_cases"

# $ref, $id, $anchor, $dynamicRef, the registry, and what has been spoken about when unevaluated… asks.
class SchemaReferencesTest < GuildhallTest
  include SchemaCases

  TREE = {
    "$id" => "https://example.com/tree", "$dynamicAnchor" => "node", "type" => "object",
    "properties" => {"data" => true, "children" => {"type" => "array", "items" => {"$dynamicRef" => "#node"}}}
  }.freeze

  def test_recursion
    schema = {"properties" => {"next" => {"$ref" => "#"}, "value" => {"type" => "integer"}}, "additionalProperties" => false}
    assert_valid(schema, {"value" => 1, "next" => {"next" => {"value" => 2}}})
    assert_invalid(schema, {"value" => 1, "next" => {"next" => {"value" => "2"}}}, {"next" => {"other" => 1}})
  end

  def test_definitions_and_escaped_pointers
    schema = {"$defs" => {"a/b" => {"type" => "integer"}, "c~d" => {"type" => "string"}, "e%f" => {"type" => "null"}},
              "properties" => {"x" => {"$ref" => "#/$defs/a~1b"}, "y" => {"$ref" => "#/$defs/c~0d"}, "z" => {"$ref" => "#/$defs/e%25f"}}}
    assert_valid(schema, {"x" => 1, "y" => "s", "z" => nil})
    assert_invalid(schema, {"x" => "s"}, {"y" => 1}, {"z" => 1})
  end

  def test_anchors_and_ids
    schema = {"$id" => "https://example.com/root.json",
              "$defs" => {"A" => {"$id" => "nested.json", "$defs" => {"B" => {"$anchor" => "here", "type" => "integer"}}}},
              "properties" => {"p" => {"$ref" => "nested.json#here"}, "q" => {"$ref" => "https://example.com/nested.json#/$defs/B"}}}
    assert_valid(schema, {"p" => 1, "q" => 2})
    assert_invalid(schema, {"p" => "a"}, {"q" => "a"})
  end

  def test_draft7_anchors
    schema = {"$id" => "http://example.com/root", "definitions" => {"A" => {"$id" => "#foo", "type" => "integer"}}, "items" => {"$ref" => "#foo"}}
    assert_valid(schema, [1], draft: "7")
    assert_invalid(schema, ["a"], draft: "7")
  end

  def test_a_registry_of_other_documents
    registry = {"https://example.com/user" => '{"properties": {"name": {"$ref": "name"}}, "required": ["name"]}',
                "https://example.com/name" => {"type" => "string"}}
    assert_valid({"$ref" => "https://example.com/user"}, {"name" => "a"}, registry:)
    assert_invalid({"$ref" => "https://example.com/user"}, {}, {"name" => 1}, registry:)
  end

  def test_metaschemas
    assert_valid({"$ref" => "https://json-schema.org/draft/2020-12/schema"}, {"minLength" => 1}, true,
      {"properties" => {"a" => {"type" => ["null"]}}})
    assert_invalid({"$ref" => "https://json-schema.org/draft/2020-12/schema"}, {"minLength" => -1}, 1,
      {"properties" => {"a" => {"type" => "x"}}})
    assert_valid({"$ref" => "http://json-schema.org/draft-07/schema#"}, {"items" => [{"minLength" => 1}]})
    assert_invalid({"$ref" => "http://json-schema.org/draft-07/schema#"}, {"items" => [{"minLength" => "1"}]})
  end

  def test_dynamic_references_take_the_outermost
    strict = {"$id" => "https://example.com/strict", "$dynamicAnchor" => "node", "$ref" => "tree", "unevaluatedProperties" => false}
    registry = {"https://example.com/tree" => TREE}
    assert_valid(TREE, {"children" => [{"daat" => 1}]})
    assert_valid(strict, {"children" => [{"data" => 1}]}, registry:)
    assert_invalid(strict, {"children" => [{"daat" => 1}]}, {"daat" => 1}, registry:)
  end

  def test_unevaluated_properties_see_through_applicators
    schema = {"allOf" => [{"properties" => {"a" => true}}], "$ref" => "#/$defs/b",
              "$defs" => {"b" => {"patternProperties" => {"^b" => true}}},
              "if" => {"required" => ["c"], "properties" => {"c" => true}}, "then" => {"properties" => {"d" => true}},
              "anyOf" => [{"properties" => {"e" => {"type" => "integer"}}}, {"properties" => {"f" => true}}],
              "unevaluatedProperties" => {"type" => "null"}}
    assert_valid(schema, {}, {"a" => 1, "bb" => 1}, {"c" => 1, "d" => 1}, {"e" => 1, "f" => 1}, {"x" => nil})
    assert_invalid(schema, {"x" => 1}, {"d" => 1}, {"e" => "a"})
  end

  def test_unevaluated_properties_do_not_see_cousins
    schema = {"allOf" => [{"properties" => {"a" => true}}, {"unevaluatedProperties" => false}]}
    assert_invalid(schema, {"a" => 1})
  end

  def test_unevaluated_properties_of_many_members
    names = Array.new(200) { |index| "name#{index}" }
    schema = {"anyOf" => [{"properties" => names.to_h { |name| [name, true] }}], "unevaluatedProperties" => false}
    all = names.to_h { |name| [name, 1] }
    assert_valid(schema, all)
    assert_invalid(schema, {**all, "one more" => 1})
  end

  def test_unevaluated_items
    schema = {"prefixItems" => [true], "anyOf" => [{"prefixItems" => [true, {"const" => 2}]}, true], "contains" => {"type" => "string"},
              "minContains" => 0, "unevaluatedItems" => false}
    assert_valid(schema, [], [1], [1, 2], [1, 2, "a", "b"], [1, "a"])
    assert_invalid(schema, [1, 3], [1, 2, 3], [1, "a", 3])
  end

  def test_a_metaschema_without_the_validation_vocabulary
    meta = {"$id" => "https://example.com/meta", "$schema" => "https://json-schema.org/draft/2020-12/schema",
            "$vocabulary" => {"https://json-schema.org/draft/2020-12/vocab/core" => true, "https://json-schema.org/draft/2020-12/vocab/applicator" => true}}
    registry = {"https://example.com/meta" => meta}
    schema = {"$schema" => "https://example.com/meta", "properties" => {"a" => {"minimum" => 3}, "b" => false}}
    assert_valid(schema, {"a" => 1}, registry:)
    assert_invalid(schema, {"b" => 1}, registry:)
    unknown = {"https://example.com/meta" => {**meta, "$vocabulary" => {"https://example.com/vocabulary" => true}}}
    error = assert_raises(Guildhall::SchemaError) { validator(schema, registry: unknown) }
    assert_includes error.message, "https://example.com/vocabulary"
  end

  def test_part_of_a_schema
    schema = {"$defs" => {"user" => {"$anchor" => "u", "required" => ["name"]}}}
    ["#/$defs/user", "#u"].each { |at| refute validator(schema, at:).valid?({}) }
    assert validator(schema).valid?({})
    error = assert_raises(Guildhall::SchemaError) { validator(schema, at: "#/$defs/usr") }
    assert_includes error.message, "unresolved"
  end
end
