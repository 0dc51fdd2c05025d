# frozen_string_literal: true

require "test_helper"
require "support/schema_cases"

class SchemaDialectTest < GuildhallTest
  include SchemaCases

  Dialect = Guildhall::Schema.const_get(:Dialect)
  META = "https://example.com/meta"
  URIS = {
    "4" => "http://json-schema.org/draft-04/schema", "6" => "http://json-schema.org/draft-06/schema", "7" => "http://json-schema.org/draft-07/schema",
    "2019-09" => "https://json-schema.org/draft/2019-09/schema", "2020-12" => "https://json-schema.org/draft/2020-12/schema"
  }.freeze

  def of(uri, **options) = Dialect.of(uri, Guildhall::Schema::Options.new(**options))

  def metaschema(vocabularies, draft = "2020-12")
    {META => {"$schema" => URIS.fetch(draft), "$vocabulary" => vocabularies.transform_keys { |name| name.include?(":") ? name : URIS.fetch(draft).sub(/schema\z/, "vocab/#{name}") }}}
  end

  # Drafts in which a keyword is known: there the value is not valid.
  def assert_known(drafts, schema, value)
    URIS.each do |draft, uri|
      [{"$schema" => "#{uri}#", **schema}, schema].each do |one|
        drafts.include?(draft) ? assert_invalid(one, value, draft:) : assert_valid(one, value, draft:)
      end
    end
  end

  def test_of_what_the_schema_says
    URIS.each do |draft, uri|
      other = draft == "7" ? "4" : "7"
      [uri, "#{uri}#", uri.sub("https:", "http:"), uri.sub(/\Ahttp:/, "https:")].each { |one| assert_equal draft, of(one, draft: other).draft }
    end
  end

  def test_of_the_option_where_the_schema_says_nothing
    assert_equal "2020-12", of(nil).draft
    {"draft-07" => "7", "7" => "7", "draft-04" => "4", 6 => "6", "2019-09" => "2019-09", "draft-2020-12" => "2020-12"}.each { |given, draft| assert_equal draft, of(nil, draft: given).draft }
    assert_match(/2019-09/, assert_raises(Guildhall::ArgumentError) { of(nil, draft: "3") }.message)
  end

  def test_an_unknown_one
    ["http://json-schema.org/draft-03/schema#", "http://json-schema.org/schema#", "urn:x"].each do |uri|
      error = assert_raises(Guildhall::SchemaError) { of(uri) }
      assert_includes error.message, "$schema #{uri.delete_suffix("#")} is not known: drafts 2020-12, 2019-09, 07, 06 and 04 are"
    end
  end

  def test_a_metaschema_may_leave_validation_out
    %w[2019-09 2020-12].each do |draft|
      assert of(META, registry: metaschema({"core" => true, "validation" => true}, draft)).assertions
      refute of(META, registry: metaschema({"core" => true}, draft)).assertions
      assert_equal draft, of(META, registry: metaschema({"core" => true}, draft)).draft
    end
  end

  def test_a_metaschema_may_not_need_what_is_unknown
    error = assert_raises(Guildhall::SchemaError) { of(META, registry: metaschema("https://example.com/units" => true)) }
    assert_includes error.message, "https://example.com/units"
    assert of(META, registry: metaschema("https://example.com/units" => false))
  end

  def test_keywords_of_later_drafts
    assert_known(%w[6 7 2019-09 2020-12], {"const" => 1}, 2)
    assert_known(%w[6 7 2019-09 2020-12], {"contains" => {"type" => "null"}}, [1])
    assert_known(%w[6 7 2019-09 2020-12], {"propertyNames" => {"maxLength" => 1}}, {"ab" => 1})
    assert_known(%w[7 2019-09 2020-12], {"if" => {"type" => "integer"}, "then" => {"minimum" => 5}}, 4)
    assert_known(%w[2019-09 2020-12], {"dependentRequired" => {"a" => ["b"]}}, {"a" => 1})
    assert_known(%w[2019-09 2020-12], {"dependentSchemas" => {"a" => {"required" => ["b"]}}}, {"a" => 1})
    assert_known(%w[2019-09 2020-12], {"properties" => {"a" => {}}, "unevaluatedProperties" => {"type" => "null"}}, {"b" => 1})
    assert_known(%w[2019-09 2020-12], {"contains" => {"type" => "integer"}, "maxContains" => 1}, [1, 2])
    assert_known(URIS.keys, {"dependencies" => {"a" => ["b"]}}, {"a" => 1})
  end

  def test_lists_of_items
    assert_known(%w[2020-12], {"prefixItems" => [{"type" => "null"}]}, [1])
    %w[4 6 7 2019-09].each do |draft|
      schema = {"items" => [{"type" => "integer"}], "additionalItems" => {"type" => "null"}}
      assert_valid(schema, [1, nil], [], draft:)
      assert_invalid(schema, [1, 1], [nil], draft:)
    end
  end

  def test_draft4_has_boundaries_that_are_true_or_false
    schema = {"minimum" => 1, "exclusiveMinimum" => true, "maximum" => 3, "exclusiveMaximum" => false}
    assert_valid(schema, 2, 3, draft: "4")
    assert_invalid(schema, 1, 4, draft: "4")
    assert_valid({"exclusiveMaximum" => true}, 4, draft: "4")
    error = validator(schema, draft: "4").error(1)
    assert_equal ["#/exclusiveMinimum", "is not greater than 1"], [error.schema_location, error.message]
    assert_match(/exclusiveMaximum is true or false in draft-04/, assert_raises(Guildhall::SchemaError) { validator({"exclusiveMaximum" => 3}, draft: "4") }.message)
    assert_raises(Guildhall::SchemaError) { validator({"maximum" => 3, "exclusiveMaximum" => true}, draft: "6") }
  end

  def test_names_of_schemas
    {"4" => "id", "6" => "$id", "7" => "$id"}.each do |draft, id|
      schema = {id => "http://example.com/a.json", "properties" => {"x" => {"$ref" => "b.json"}, "y" => {"$ref" => "#c"}, "id" => {"type" => "string"}},
                "definitions" => {"b" => {id => "b.json", "type" => "integer"}, "c" => {id => "#c", "type" => "null"}}}
      assert_valid(schema, {"x" => 1, "y" => nil, "id" => "i"}, draft:)
      assert_invalid(schema, {"x" => "a"}, {"y" => 1}, {"id" => 1}, draft:)
    end
    schema = {"$id" => "http://example.com/a", "$defs" => {"b" => {"$anchor" => "b", "type" => "integer"}}, "$ref" => "#b"}
    %w[2019-09 2020-12].each { |draft| assert_invalid(schema, "a", draft:) }
  end

  # ajv 8 applies what stands beside a `$ref` in all drafts.
  def test_what_stands_beside_a_reference
    assert_known(%w[2019-09 2020-12], {"definitions" => {"a" => {}}, "$ref" => "#/definitions/a", "required" => ["b"]}, {})
  end

  def test_keywords_of_later_drafts_are_ignored
    schema = {"properties" => {"a" => {"$anchor" => "a", "$recursiveAnchor" => true, "$dynamicAnchor" => "b", "contentSchema" => {}, "dependentRequired" => {}}}}
    ignored = URIS.keys.to_h { |draft| [draft, Guildhall::Schema.new(schema, draft:).ignored.map { |place| place[%r{[^/]+\z}] }.sort] }
    all = %w[$anchor $dynamicAnchor $recursiveAnchor contentSchema dependentRequired]
    assert_equal({"4" => all, "6" => all, "7" => all, "2019-09" => %w[$dynamicAnchor], "2020-12" => %w[$recursiveAnchor]}, ignored)
  end

  def test_keywords_that_are_ignored
    schema = {"definitions" => {"a" => {"title" => "a", "$ref" => "#", "minimum" => 1, "description" => ""}}, "$ref" => "#/definitions/a", "required" => ["b"],
              "if" => true, "prefixItems" => [], "additionalItems" => {}, "properties" => {"const" => {"const" => 1}}}
    ignored = URIS.keys.to_h { |draft| [draft, Guildhall::Schema.new(schema, draft:).ignored.sort] }
    beside = %w[#/additionalItems #/definitions/a/minimum #/if #/prefixItems #/properties #/required]
    assert_equal({"4" => [*beside, "#/properties/const/const"].sort, "6" => beside, "7" => beside, "2019-09" => ["#/prefixItems"], "2020-12" => ["#/additionalItems"]}, ignored)
    assert_empty Guildhall::Schema.new({"$schema" => URIS["7"], "$id" => "urn:a", "$ref" => "#/definitions/b", "definitions" => {"b" => {}}}).ignored
  end

  def test_recursive_references
    tree = {"$schema" => URIS["2019-09"], "$id" => "http://example.com/tree", "$recursiveAnchor" => true, "type" => "object",
            "properties" => {"children" => {"type" => "array", "items" => {"$recursiveRef" => "#"}}}}
    strict = {"$schema" => URIS["2019-09"], "$id" => "http://example.com/strict", "$recursiveAnchor" => true, "$ref" => "tree", "unevaluatedProperties" => false}
    registry = {"http://example.com/tree" => tree}
    assert_valid(tree, {"children" => [{"extra" => 1}]})
    assert_valid(strict, {"children" => [{"children" => []}]}, registry:)
    assert_invalid(strict, {"children" => [{"extra" => 1}]}, {"extra" => 1}, registry:)
    assert_valid(strict.except("$recursiveAnchor"), {"children" => [{"extra" => 1}]}, registry:)
  end

  def test_contains_evaluates_in_2020_alone
    schema = {"contains" => {"type" => "integer"}, "unevaluatedItems" => false}
    assert_valid(schema, [1], draft: "2020-12")
    assert_invalid(schema, [1], draft: "2019-09")
  end

  def test_meta_schemas
    bad = [{"minLength" => -1}, {"properties" => {"a" => {"type" => "nothing"}}}, {"required" => "a"}, {"items" => {"pattern" => "("}}]
    URIS.each_value do |uri|
      meta = Guildhall::Schema.new({"$schema" => uri, "$ref" => uri}).validator
      assert meta.valid?({"properties" => {"a" => {"minimum" => 1, "enum" => [1]}}, "required" => ["a"]}), uri
      bad.each { |schema| refute meta.valid?(schema), "#{uri} #{schema}" }
      own = Guildhall::Schema.const_get(:Metaschemas).find(uri)
      assert meta.valid?(own), meta.errors(own).join("\n")
    end
    assert Guildhall::Schema.new({"$ref" => URIS["4"]}).validator.valid?({"maximum" => 1, "exclusiveMaximum" => true})
    refute Guildhall::Schema.new({"$ref" => URIS["4"]}).validator.valid?({"exclusiveMaximum" => true})
    refute Guildhall::Schema.new({"$ref" => URIS["6"]}).validator.valid?({"maximum" => 1, "exclusiveMaximum" => true})
  end
end
