# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

# Where references lead: by pointer, anchor and URI, within a document and to the registry's.
class SchemaResourcesTest < GuildhallTest
  SCHEMA = {
    "$id" => "http://example.com/root.json",
    "$defs" => {
      "a" => {"$anchor" => "here", "type" => "string"},
      "b" => {"$id" => "other.json", "$defs" => {"c" => {"$dynamicAnchor" => "node"}}},
      "odd/name~" => true
    }
  }.freeze

  def resources(schema = SCHEMA, **options)
    options = Guildhall::Schema::Options.new(**options)
    Guildhall::Schema.const_get(:Resources).new(Guildhall::Schema.const_get(:Source).read(schema), options)
  end

  def schema_at(reference, resources = self.resources)
    resources.resolve(reference, resources.root).schema
  end

  def test_pointers_anchors_and_uris
    assert_equal "string", schema_at("#/$defs/a")["type"]
    assert_equal "string", schema_at("#here")["type"]
    assert_equal "other.json", schema_at("other.json")["$id"]
    assert_equal "node", schema_at("other.json#node")["$dynamicAnchor"]
    assert_equal "node", schema_at("http://example.com/other.json#/$defs/c")["$dynamicAnchor"]
    assert_equal true, schema_at("#/$defs/odd~1name~0")
  end

  def test_the_base_changes_with_an_id_within
    resources = self.resources
    assert_equal "http://example.com/other.json", resources.resolve("#/$defs/b/$defs/c", resources.root).base
    assert_equal ["http://example.com/other.json"], resources.dynamic_anchors("node").keys
    assert resources.dynamic?("http://example.com/other.json")
  end

  def test_the_registry_is_read_when_it_is_referred_to
    with_registry = resources({"$ref" => "x:y#/a"}, registry: {"x:y" => {"a" => {"type" => "null"}}})
    assert_equal({"type" => "null"}, schema_at("x:y#/a", with_registry))
  end

  def test_metaschemas_are_there
    assert_includes schema_at("http://json-schema.org/draft-07/schema")["properties"].keys, "minimum"
  end

  def test_what_leads_nowhere_names_the_reference_and_its_place
    {"#/$defs/z" => "/$defs/z is an unresolved $ref in", "#nowhere" => "#nowhere: there is no anchor nowhere in",
     "missing.json" => "missing.json refers to http://example.com/missing.json, which is neither in the schema nor in the registry",
     "#/$defs/a/type" => "a schema is an object, true or false"}.each do |reference, message|
      error = assert_raises(Guildhall::SchemaError, reference) { schema_at(reference) }
      assert_includes error.message, message
      assert error.location
    end
  end

  def test_a_copy_reads_on_without_changing_the_original
    original = resources({"$ref" => "x:y"}, registry: {"x:y" => {"$dynamicAnchor" => "n"}}).freeze
    copy = original.dup
    copy.resolve("x:y", copy.root)
    assert_equal 1, copy.dynamic_anchors("n").size
    assert_empty original.dynamic_anchors("n")
  end

  def test_draft7_ignores_what_is_beside_a_ref
    seven = resources({"$id" => "http://e/", "definitions" => {"a" => {"$id" => "b", "$ref" => "#"}, "c" => {"$id" => "#here"}}}, draft: "7")
    assert_raises(Guildhall::SchemaError) { schema_at("b", seven) }
    assert_equal({"$id" => "#here"}, schema_at("#here", seven))
  end
end
