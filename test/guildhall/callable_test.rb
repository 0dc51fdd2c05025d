# frozen_string_literal: true

require "test_helper"
require "guildhall/callable"
require "guildhall/json"
require "guildhall/pipeline"

class CallableTest < GuildhallTest
  def self.one(value) = value
  def self.two(value, other = nil) = [value, other]
  def self.keyword(value, other: nil) = [value, other]
  def self.rest(*values) = values

  ONE = Guildhall::JSON.lazy >> Guildhall.map { |order| order["id"] }
  TWO = Guildhall.map { |id, metadata| [id, metadata] }

  def two?(callable) = Guildhall::Callable.takes_metadata?(callable)

  def test_blocks_and_lambdas
    [->(a, b) {}, ->(a, b = nil) {}, proc { |a, b| }].each { |block| assert two?(block), block.inspect }
    [->(a) {}, -> {}, proc { |a| }, proc {}, ->(a, b: 1) {}, ->(*a) {}].each { |block| refute two?(block), block.inspect }
  end

  def test_objects
    {one: false, two: true, keyword: false, rest: false}.each do |name, expected|
      method = self.class.method(name)
      assert_equal expected, Guildhall::Callable.takes_two?(method), name
      assert_equal expected, two?(Class.new { define_singleton_method(:call, &method) }), name
    end
  end

  def self.message(message) = message

  def test_what_seems_to_take_a_message
    assert Guildhall::Callable.takes_message?(self.class.method(:message))
    [self.class.method(:one), self.class.method(:two), ->(message) { message }].each { |call| refute Guildhall::Callable.takes_message?(call), call.inspect }
  end

  def test_pipelines_ask_their_stages
    refute two?(ONE)
    refute two?(ONE.measured)
    assert two?(ONE >> TWO)
  end
end
