# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/msgpack"

# What is hidden of payloads, wherever one looks for it.
class WebHiddenTest < GuildhallTest
  Web = Guildhall::Web
  SECRET = "4111-1111"

  def self.apart? = true

  def hidden(*entries) = Web::Hidden.new(entries)

  # @return [String, nil] what is shown of a JSON text
  def shown(json, *entries)
    hidden = hidden(*entries)
    text = hidden.text(Guildhall::JSON.new(allow_duplicate_key: true).document(json))
    text && Web::JSONText.new(text, hidden).line
  end

  def finds?(condition, payload, *entries) = hidden(*entries).condition(condition).true_for?(payload)

  def test_fields_by_name_wildcard_and_descent
    {"$.card" => '{"card":"4111-1111","id":1}', "$['card']" => '{"card":"4111-1111"}', "$[\"c\\u0061rd\"]" => '{"card":"4111-1111"}',
     "$.user.*" => '{"user":{"a":"4111-1111","b":["4111-1111"]}}', "$.items[*].card" => '{"items":[{"card":"4111-1111"},{"card":{"x":"4111-1111"}}]}',
     "$..card" => '{"a":[[{"b":{"card":["4111-1111"]}}]],"card":"4111-1111"}', "$.*.card" => '[{"card":"4111-1111"}]', "$" => '{"a":"4111-1111"}',
     "$['a','b']" => '{"a":"4111-1111","b":"4111-1111"}', "$.a..card" => '{"a":{"a":{"card":{"card":"4111-1111"}}}}',
     "$['a b.c']" => '{"a b.c":"4111-1111"}', "$[*]" => '["4111-1111"]'}.each do |path, json|
      text = shown(json, path)
      refute_includes text, SECRET, path
      assert_includes text, '"[hidden]"', path
    end
  end

  def test_what_is_not_hidden_stays_as_it_was_written
    assert_equal '{"card":"[hidden]","n":1.10,"big":12345678901234567890.0e0,"user":{"card":1}}',
      shown('{"card":1, "n":1.10,"big":12345678901234567890.0e0,"user":{"card":1}}', "$.card")
  end

  def test_names_that_are_written_otherwise
    ['{"c\u0061rd":"4111-1111"}', '{"CARD":"4111-1111"}', '{"Card":"4111-1111","cArd":["4111-1111"]}'].each { |json| refute_includes shown(json, "$.card"), SECRET }
  end

  def test_a_payload_without_fields_is_hidden_whole
    ['"4111-1111"', "4111", '"{\"card\":\"4111-1111\"}"'].each { |json| assert_nil shown(json, "$.card") }
    assert_nil hidden("$.card").text(Class.new { def to_json(*) = '"4111-1111"' }.new)
  end

  def test_objects_of_other_codecs
    order = Data.define(:card, :lines)
    [{card: SECRET}, {"card" => SECRET}, order.new(card: SECRET, lines: [1]), {"inner" => order.new(card: SECRET, lines: [])}].each do |payload|
      text = hidden("$..card").text(payload)
      refute_includes Web::JSONText.new(text, hidden("$..card")).line, SECRET
    end
    document = Guildhall::MessagePack.lazy.call(Guildhall::MessagePack.encode({"card" => SECRET, "id" => 1}))
    assert_equal '{"card":"[hidden]","id":1}', Web::JSONText.new(hidden("$.card").text(document), hidden("$.card")).line
  end

  PAYLOAD = {"id" => 1, "card" => SECRET, "items" => [{"sku" => "A", "card" => SECRET}], "copy" => SECRET, "user" => {"card" => SECRET, "name" => "Ada"}}.freeze

  def test_a_condition_that_asks_for_it_is_refused
    ["$.card == '#{SECRET}'", "$['card']", "!$.card", "$.id == 2 || $.card", "$..card", "$.items[?@.card == 'x']", "search($.card, '4')", "length($.card) > 1",
     "$[\"c\\u0061rd\"] == 'x'", "$['id','card']", "$.user.card == $.copy", "count($..card) > 1", "$.card.number"].each do |condition|
      [PAYLOAD, Guildhall::JSON.document(Guildhall::JSON.encode(PAYLOAD))].each do |payload|
        error = assert_raises(Web::Access::Refused, condition) { finds?(condition, payload, "$..card") }
        assert_includes error.message, "You may not search in card"
      end
    end
  end

  def test_no_other_condition_finds_it
    payload = PAYLOAD.except("copy")
    ["$..[?@ == '#{SECRET}']", "$[?@ == '#{SECRET}']", "$.items[0][?search(@, '4111')]", "$.*.*[?@ == '#{SECRET}']", "$..*[?match(@, '4.*')]",
     "count($.*) == 4", "length($.user) == 2", "search($, '4111')", "$['CARD'] == '#{SECRET}'"].each do |condition|
      [payload, Guildhall::JSON.document(Guildhall::JSON.encode(payload))].each { |one| refute finds?(condition, one, "$..card"), condition }
    end
    ["$.id == 1", "$.items[?@.sku == 'A']", "$.user.name == 'Ada'", "count($.*) == 3", "$..name"].each { |condition| assert finds?(condition, payload, "$..card"), condition }
  end

  # Whether a search was refused must not depend on what is hidden.
  def test_no_payload_is_passed_over_for_what_it_does_not_contain
    assert_equal SECRET, Guildhall::JSON::Path::Condition.new("$.card == '#{SECRET}'").literal
    assert_nil hidden("$.card").condition("$.card == '#{SECRET}'").literal
    refute_nil hidden("key").condition("$.card == '#{SECRET}'").literal
  end

  def test_strings_without_fields_are_not_searched
    refute finds?("search($, '4111')", SECRET, "$.card")
    refute finds?("$ == 4111", 4111, "$.card")
  end

  def test_topics_that_are_not_named_hide_what_any_hides
    web = Web.new(hide: {"orders" => ["$.card", "key"], "users" => "$.email", "public" => []})
    assert_equal [%w[$.card key], %w[$.email], [], %w[$.card key $.email]], %w[orders users public orders.dead].map { |topic| web.hidden(topic).entries }
    assert_equal [["$.card"]], [Web.new(hide: "$.card").hidden("any").entries]
  end

  def test_headers
    one = hidden("key", "headers.Authorization")
    assert one.key
    refute one.fields?
    assert_equal [true, true, false, false], ["Authorization", "AUTHORIZATION", "source_error_message", "\xFF"].map { |name| one.header?(name) }
    assert hidden("$.card").header?("source_error_message"), "it may quote the payload"
  end

  def test_what_cannot_be_hidden
    ["card", "$.items[0]", "$.items[?@.a]", "$.a[1:2]", "headers", "headers.", "$.", "keys"].each do |entry|
      error = assert_raises(Guildhall::ArgumentError, entry) { Web.new(hide: [entry]) }
      assert_includes error.message, entry
    end
  end

  def test_a_text_of_too_many_values_is_cut
    text = Web::JSONText.new("[#{(["[1]"] * 2_000).join(",")}]", hidden)
    assert_operator text.lines.lines.size, :<, 4_100
    assert text.cut?
  end
end
