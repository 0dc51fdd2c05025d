# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/schema"

class SchemaContractTest < GuildhallTest
  # A predicate as an object.
  module Even
    def self.call(value) = value.even?
  end

  ORDER = Guildhall::Schema.contract do |order|
    order.required :id, Integer, range: (1..)
    order.required "status", one_of: %w[open paid]
    order.optional "email", String, format: "email", null: true
    order.optional "discount", Numeric, range: 0...1
    order.optional "code", String, length: 3, match: /\A[A-Z]+\z/
    order.optional "flag", :boolean
    order.optional "pairs", Integer, satisfies: Even, message: "is odd"
    order.optional "tags", [String], size: (..2)
    order.required "items", [Hash], size: 1..3 do |item|
      item.required "sku", String
    end
    order.optional "customer" do |customer|
      customer.required "name", String
    end
    order.rule("is paid without an email") { |value| value["status"] != "paid" || value["email"] }
    order.closed
  end
  VALID = {"id" => 1, "status" => "open", "items" => [{"sku" => "a"}]}.freeze

  def test_accepts
    accepts({}, {"email" => nil}, {"email" => "a@b.c", "status" => "paid"}, {"discount" => 0.5}, {"code" => "ABC"}, {"flag" => false},
      {"pairs" => 4}, {"tags" => %w[a b]}, {"customer" => {"name" => "x"}})
  end

  def test_refuses_and_says_why
    refuses({"id" => 0}, "/id is less than 1")
    refuses({"id" => "1"}, "/id is not of type integer")
    refuses({"status" => "lost"}, '/status is not one of "open", "paid"')
    refuses({"discount" => 1}, "/discount is not less than 1")
    refuses({"code" => "AB"}, "/code is shorter than 3 characters")
    refuses({"code" => "abc"}, "/code does not match /\\A[A-Z]+\\z/")
    refuses({"flag" => 1}, "/flag is not of type boolean")
    refuses({"pairs" => 3}, "/pairs is odd")
    refuses({"tags" => %w[a b c]}, "/tags has more than 2 elements")
    refuses({"items" => []}, "/items has fewer than 1 elements")
    refuses({"items" => [{}]}, '/items/0 is missing required property "sku"')
    refuses({"customer" => {}}, '/customer is missing required property "name"')
    refuses({"other" => 1}, "/other is not allowed")
    refuses({"status" => "paid"}, "the value is paid without an email")
  end

  def test_is_shareable
    validator = ORDER.validator
    assert Ractor.shareable?(validator)
    assert ractor_value(Ractor.new(validator, VALID.to_json.freeze) { |check, json| check.valid?(Guildhall::JSON.document(json)) })
  end

  def test_a_block_without_a_parameter
    contract = Guildhall::Schema.contract { required "a", Integer }
    refute contract.validator.valid?({})
  end

  def test_says_what_is_wrong_with_a_contract
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.contract { required "a", Object } }
    assert_includes error.message, "a: no type Object"
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.contract { required "a", Integer, rnage: 1..2 } }
    assert_includes error.message, "a: unknown option rnage; did you mean range?"
    assert_raises(Guildhall::ArgumentError) { Guildhall::Schema.contract }
    mutable = Struct.new(:list) { def call(_) = true }.new([])
    assert_raises(Guildhall::NotShareableError) { Guildhall::Schema.contract { required "a", satisfies: mutable } }
  end

  private

  def accepts(*changes)
    changes.each do |change|
      [VALID.merge(change), Guildhall::JSON.document(VALID.merge(change).to_json)].each do |value|
        assert_empty ORDER.validator.errors(value), change
      end
    end
  end

  def refuses(change, message)
    [VALID.merge(change), Guildhall::JSON.document(VALID.merge(change).to_json)].each do |value|
      assert_equal [message], ORDER.validator.errors(value).map(&:to_s)
    end
  end
end
