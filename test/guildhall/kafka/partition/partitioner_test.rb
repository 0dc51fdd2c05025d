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

  def test_each_key_has_its_virtual_partition
    errors = []
    partitioner = partitioner(reducer: ->(key) { Integer(key) })
    keys = ["3", "4", Guildhall::Kafka::Partition::Partitioner::Keyless.new(5), Guildhall::Kafka::Partition::Partitioner::UNKNOWN, "x"]
    assert_equal([1, 0, 1, :unknown, :unknown], keys.map { |key| partitioner.number_of(key) { |error| errors << error.class } })
    assert_equal [::ArgumentError], errors
  end
end
