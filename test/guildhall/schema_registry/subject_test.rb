# frozen_string_literal: true

require "test_helper"
require "guildhall/schema_registry"

class SchemaRegistrySubjectTest < GuildhallTest
  Subject = Guildhall::SchemaRegistry::Subject

  def test_strategies
    assert_equal "orders-value", Subject.for(:topic, topic: "orders")
    assert_equal "orders-key", Subject.for(:topic, topic: "orders", key: true)
    assert_equal "shop.Order", Subject.for(:record, topic: "orders", record: "shop.Order")
    assert_equal "orders-shop.Order", Subject.for(:topic_record, topic: "orders", record: "shop.Order")
  end

  def test_what_is_missing_is_named
    assert_match(/record/, assert_raises(Guildhall::ArgumentError) { Subject.for(:record, topic: "orders") }.message)
    assert_match(/topic/, assert_raises(Guildhall::ArgumentError) { Subject.for(:topic) }.message)
    assert_match(/:topic_record/, assert_raises(Guildhall::ArgumentError) { Subject.for(:name, topic: "a") }.message)
  end
end
