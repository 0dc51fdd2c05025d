# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaPartitionerTest < GuildhallTest
  def deal(messages, concurrency: 4, **settings, &partitioner)
    settings = Guildhall::Kafka::Routing::VirtualPartitions.new(partitioner:, max: nil, reducer: nil, **settings)
    errors = []
    shares = Guildhall::Kafka::Partition::Partitioner.new(settings, concurrency)
      .deal(messages, messages.map { |message| message + 100 }) { |error, message| errors << [error.class, message] }
    [shares, errors]
  end

  def test_equal_answers_go_together_in_order
    shares, errors = deal((0...12).to_a, max: 3) { |message| message % 5 }
    assert_empty errors
    assert_operator shares.size, :<=, 3
    assert_equal (100...112).to_a, shares.values.flatten.sort
    shares.each_value { |share| assert_equal share.sort, share }
    of = shares.flat_map { |place, share| share.map { |index| [index, place] } }.to_h
    (100...107).each { |index| assert_equal of[index], of[index + 5] }
  end

  def test_a_reducer_decides_itself
    shares, = deal((0...6).to_a, reducer: :to_i.to_proc) { |message| (message % 2).to_s }
    assert_equal({0 => [100, 102, 104], 1 => [101, 103, 105]}, shares)
  end

  def test_a_message_for_which_it_raises_has_a_share_of_its_own
    shares, errors = deal((0...6).to_a, reducer: :itself.to_proc) { |message| message == 3 ? raise(NotImplementedError) : 0 }
    assert_equal({0 => [100, 101, 102, 104, 105], Guildhall::Kafka::Partition::Partitioner::UNKNOWN => [103]}, shares)
    assert_equal [[NotImplementedError, 3]], errors
  end

  Message = Struct.new(:offset, :key)

  def partitioner(**settings, &partitioner)
    settings = Guildhall::Kafka::Routing::VirtualPartitions.new(partitioner:, max: 2, reducer: nil, **settings)
    Guildhall::Kafka::Partition::Partitioner.new(settings, 4)
  end

  def test_keys_are_what_the_partitioner_answers
    messages = ["a", "b", nil, "a", "c", nil].each_with_index.map { |key, offset| Message.new(offset, key) }
    errors = []
    keys = partitioner { |message| message.key == "c" ? raise("no") : message.key }
      .keys(messages, [10, 11, 12, 13, 14, 15]) { |error, message| errors << [error.message, message.offset] }
    keyless = Guildhall::Kafka::Partition::Partitioner::Keyless
    unknown = Guildhall::Kafka::Partition::Partitioner::UNKNOWN
    assert_equal({"a" => [10, 13], "b" => [11], keyless.new(2) => [12], unknown => [14], keyless.new(5) => [15]}, keys)
    assert_equal [["no", 4]], errors
  end

  # A key that raises where it is asked for its hash, or whether it is another one.
  class Raising
    attr_reader :hash

    def initialize(hash) = @hash = hash
    def eql?(other) = raise("no #{other.class}")
  end

  def test_a_key_that_raises_is_as_a_partitioner_that_raises
    endless = Class.new { def hash = raise("no hash") }.new
    first = Raising.new(1)
    errors = []
    keys = partitioner(&:key).keys([first, endless, Raising.new(1), first].each_with_index.map { |key, offset| Message.new(offset, key) },
      [10, 11, 12, 13]) { |error, message| errors << [error.message, message.offset] }
    assert_equal [[first, [10, 13]], [:unknown, [11, 12]]], keys.to_a
    assert_equal [["no hash", 1], ["no KafkaPartitionerTest::Raising", 2]], errors
  end

  def test_keys_that_are_parked_stand_for_those_that_are_equal
    parked = [+"a", "b", Raising.new(1)]
    errors = []
    keys = partitioner(&:key).keys([+"a", Raising.new(1), "c"].each_with_index.map { |key, offset| Message.new(offset, key) },
      [10, 11, 12], parked) { |error, message| errors << [error.message, message.offset] }
    assert_equal [["a", [10]], [:unknown, [11]], ["c", [12]]], keys.to_a.sort_by(&:last)
    assert_equal [["no KafkaPartitionerTest::Raising", 1]], errors
  end

  def test_a_hash_is_an_integer
    shares, errors = deal([0, 1]) { |message| Raising.new(message.zero? ? "x" : 5.0) }
    assert_equal({:unknown => [100], 1 => [101]}, shares)
    assert_equal [[::ArgumentError, 0]], errors
  end

  def test_each_key_has_its_virtual_partition
    errors = []
    partitioner = partitioner(reducer: ->(key) { Integer(key) })
    keys = ["3", "4", Guildhall::Kafka::Partition::Partitioner::Keyless.new(5), Guildhall::Kafka::Partition::Partitioner::UNKNOWN, "x"]
    assert_equal([1, 0, 1, :unknown, :unknown], keys.map { |key| partitioner.number_of(key) { |error| errors << error.class } })
    assert_equal [::ArgumentError], errors
  end
end
