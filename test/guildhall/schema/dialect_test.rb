# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

class SchemaDialectTest < GuildhallTest
  Dialect = Guildhall::Schema.const_get(:Dialect)
  META = "https://example.com/meta"
  VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"

  def of(uri, **options) = Dialect.of(uri, Guildhall::Schema::Options.new(**options))

  def metaschema(vocabularies)
    {META => {"$schema" => "https://json-schema.org/draft/2020-12/schema", "$vocabulary" => vocabularies}}
  end

  def test_of_what_the_schema_says
    assert_predicate of("http://json-schema.org/draft-07/schema#"), :draft7?
    refute_predicate of("https://json-schema.org/draft/2020-12/schema", draft: "7"), :draft7?
  end

  def test_of_the_option_where_the_schema_says_nothing
    refute_predicate of(nil), :draft7?
    assert_predicate of(nil, draft: "draft-07"), :draft7?
  end

  def test_an_unknown_one
    error = assert_raises(Guildhall::SchemaError) { of("https://json-schema.org/draft/2019-09/schema") }
    assert_includes error.message, "$schema https://json-schema.org/draft/2019-09/schema is not known"
  end

  def test_a_metaschema_may_leave_validation_out
    assert of(META, registry: metaschema("#{VOCABULARY}core" => true, "#{VOCABULARY}validation" => true)).assertions
    refute of(META, registry: metaschema("#{VOCABULARY}core" => true)).assertions
  end

  def test_a_metaschema_may_not_need_what_is_unknown
    error = assert_raises(Guildhall::SchemaError) { of(META, registry: metaschema("https://example.com/units" => true)) }
    assert_includes error.message, "https://example.com/units"
    assert of(META, registry: metaschema("https://example.com/units" => false))
  end

  def test_draft7_has_items_as_a_list_and_no_dynamic_keywords
    assert_includes Dialect::DRAFT_7.lists, "items"
    refute_includes Dialect::DRAFT_2020.lists, "items"
    refute_includes Dialect::DRAFT_7.single, "unevaluatedItems"
  end
end
