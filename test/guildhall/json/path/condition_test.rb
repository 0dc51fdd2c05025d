# frozen_string_literal: true

require "test_helper"
require "guildhall/json"
require "guildhall/msgpack"

class JSONPathConditionTest < GuildhallTest
  TEXT = '{"total":12.5,"paid":true,"refund":null,"customer":{"email":"a@b.c","tags":["x","y"]},"items":[{"sku":"A-1","qty":3},{"sku":"B"}]}'
  ANSWERS = {
    "$.total > 5" => true, "$.total>12.5" => false, "5 < $.total" => true, "$.total >= 12.5 && $.paid == true" => true, "$.customer.email == \"a@b.c\"" => true,
    " $.customer.email != 'a@b.c' " => false, "$.customer" => true, "$.refund" => true, "$.refund == null" => true, "$.none" => false, "!$.none" => true,
    "$.none == null" => false, "$.none != 1" => true, "$.none == $.other" => true, "@.total > 5" => true, "$.customer.email.x == 1" => false, "$.items.x == 1" => false,
    "$.items[?@.sku == \"A-1\" && @.qty > 2]" => true, "$.items[?@.sku == 'C']" => false, "$.items[1].sku == 'B'" => true, "$..qty" => true,
    "match($.customer.email, '.*@b[.]c')" => true, "length($.customer.tags) == 2" => true, "count($.items[*]) > 2" => false, "$.paid == false" => false,
    "($.none || $.paid) && $.total < 100" => true, "$.customer == $.customer" => true, "$.total == 'a'" => false
  }.freeze

  def test_answers_are_the_same_for_documents_and_plain_objects
    values = [Guildhall::JSON.document(TEXT), Guildhall::JSON.decode(TEXT), Guildhall::JSON.new(symbolize_names: true).decode(TEXT),
              Guildhall::JSON.new(symbolize_names: true).lazy.decode(TEXT), Guildhall::MessagePack.document(Guildhall::MessagePack.encode(JSON.parse(TEXT)))]
    ANSWERS.each do |source, expected|
      condition = Guildhall::JSON::Path::Condition.new(source)
      assert Ractor.shareable?(condition)
      assert_equal [expected] * values.size, values.map { |value| condition.true_for?(value) }, source
    end
  end

  def test_what_has_no_members
    condition = Guildhall::JSON::Path::Condition.new("$.a == 1")
    assert_equal [false] * 5, [nil, 7, "a", [1], true].map { |value| condition.true_for?(value) }
    assert condition.true_for?(Struct.new(:a).new(1))
    assert Guildhall::JSON::Path::Condition.new("$ == 7").true_for?(7)
  end

  # Whatever the condition is true for contains the literal.
  def test_literals
    {"$.total > 5" => "total", "$.customer.email == 'ada@example.com'" => "ada@example.com", "$.e <= 'ada@example.com'" => "e", "$.none != 'abc'" => nil,
     "$.a == 'abc' || $.b" => nil, "$.ab == 1 && $.c == 'xyz'" => "xyz", "!$.abc" => nil, "$.none == $.other" => nil, "count($.items) == 0" => nil,
     "$.items[?@.sku == 'A-12345']" => "A-12345", "$['a','b']" => nil, "$.items[0:2].n" => "items", "length($.tags) == 0" => "tags", "match($.email, 'x')" => "email",
     "1 == 1" => nil}.each { |source, literal| assert_equal [literal], [Guildhall::JSON::Path::Condition.new(source).literal], source }
  end

  def test_what_is_not_understood
    {"total > 5" => "position 0", "$.total >" => "expected @, $", "$.items[*].sku == 'x'" => "ask for one that fits", "$.a == 1 $.b" => "expected && or ||",
     "" => "expected", "$.total = 5" => "expected"}.each do |source, message|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Path::Condition.new(source) }
      assert_includes error.message, message
    end
    assert_raises(Guildhall::ArgumentError) { Guildhall::JSON::Path::Condition.new(5) }
  end
end
