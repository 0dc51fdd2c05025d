# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

# Each filter with unread batches, and the selection that they are called with.
class KafkaFiltersTest < GuildhallTest
  ROUTE = Guildhall::Kafka::Routing::TopicBuilder.new("t", "group", Guildhall::Kafka::Config::Problems.new).build

  # Results of payloads that are bytes.
  class Bytes
    def initialize(records) = @records = records
    def [](index) = @records[index].raw_payload
    def filtering? = false
  end

  def batch(offsets, time: Time.now)
    records = offsets.map { |offset| KafkaPartition::Record.new(offset, "p#{offset}", "k#{offset % 3}", time.respond_to?(:call) ? time.call(offset) : time) }
    Guildhall::Kafka::Messages::Batch.new(records, Bytes.new(records), ROUTE, bytes: KafkaPartition::Record.bytes(records))
  end

  def selection(...) = Guildhall::Kafka::Filtering::FilterContext.new(batch(...))

  def filter(name, **arguments) = Guildhall::Kafka::Filtering.const_get(name).new(**arguments)

  # @return [Array] the offsets that are consumed now, the index that waits, the indexes that are rejected
  def outcome(filter, selection)
    filter.call(selection)
    [selection.map(&:offset), selection.postponed, selection.rejected]
  end

  def test_a_selection_shrinks
    selection = selection(10...20)
    assert_same selection, selection.reject! { |message| message.offset.odd? }
    selection.select! { |message| message.offset < 18 }
    assert_equal [[10, 12, 14, 16], 4, 16], [selection.map(&:offset), selection.size, selection.last.offset]
    selection.postpone(selection.to_a[2], 5)
    selection.postpone(selection.to_a[1], 7)
    assert_equal [[10], 2, 7, [1, 3, 5, 7, 9, 8]], [selection.map(&:offset), selection.postponed, selection.seconds, selection.rejected]
    refute_predicate selection, :empty?
    assert_match(/1 messages, 7 s to wait/, selection.inspect)
    assert_equal 1, selection.each.size
  end

  def test_segments_divide_messages_by_their_keys
    shares = [nil, lambda(&:partition), ->(message) { message.offset / 10 }].map do |by|
      Array.new(3) { |number| outcome(filter(:Segment, number:, segments: 3, by:), selection(0...30)).first }
    end
    shares.each { |share| assert_equal (0...30).to_a, share.flatten.sort }
    assert_equal [0, 1, 2], shares[0].flat_map { |offsets| offsets.map { |offset| offset % 3 }.uniq }.sort # each key is in one
    assert_equal [30, 0, 0], shares[1].map(&:size)
    assert_equal [(0...10).to_a, (10...20).to_a, (20...30).to_a], shares[2]
  end

  def test_what_cannot_wait_is_refused
    selection = selection(0...3)
    other = selection(0...3).first
    assert_match(/one of these messages/, assert_raises(Guildhall::ArgumentError) { selection.postpone(other, 1) }.message)
    [0, -1, nil, "1", Float::NAN].each do |seconds|
      assert_match(/postpone: seconds must be a finite number > 0/, assert_raises(Guildhall::ArgumentError) { selection.postpone(selection.first, seconds) }.message)
    end
    assert_equal 3, selection.size
  end

  def test_throttle_lets_through_so_many_in_any_period
    throttle = filter(:Throttle, limit: 5, per: 60)
    assert_equal [[0, 1, 2], nil, []], outcome(throttle, selection(0...3))
    rest = selection(3...9)
    assert_equal [[3, 4], 2, []], outcome(throttle, rest)
    assert_in_delta 60, rest.seconds, 30
    assert_equal [[], 0, []], outcome(throttle, selection(5...9))
  end

  def test_throttle_lets_more_through_when_the_period_is_over
    throttle = filter(:Throttle, limit: 2, per: 0.02)
    offset = 0
    begin_at = Guildhall::Clock.now
    while offset < 10
      selection = selection(offset...10)
      throttle.call(selection)
      offset += selection.size
      sleep(selection.seconds) if selection.seconds
    end
    assert_operator Guildhall::Clock.now - begin_at, :>=, 0.08
  end

  def test_throttle_counts_a_message_once_that_a_later_filter_has_made_wait
    throttle = filter(:Throttle, limit: 6, per: 60)
    assert_equal [[*0...5], nil, []], outcome(throttle, selection(0...5))
    assert_equal [[*2...5], nil, []], outcome(throttle, selection(2...5))
    assert_equal [[5], 1, []], outcome(throttle, selection(5...8))
  end

  def test_delay_makes_young_messages_wait_and_all_behind_them
    now = Time.now
    delay = filter(:Delay, seconds: 100)
    selection = selection(0...5, time: ->(offset) { now - 150 + (offset == 4 ? 0 : offset * 40) })
    assert_equal [[0, 1], 2, []], outcome(delay, selection)
    assert_in_delta 30, selection.seconds, 30
    assert_equal [[*0...3], nil, []], outcome(delay, selection(0...3, time: nil))
  end

  def test_expire_rejects_old_ones
    now = Time.now
    expire = filter(:Expire, seconds: 1_000)
    assert_equal [[2, 3], nil, [0, 1]], outcome(expire, selection(0...4, time: ->(offset) { now - 2_000 + (offset * 800) }))
    assert_equal [[0], nil, []], outcome(expire, selection(0...1, time: nil))
  end

  def test_a_sample_has_its_size_and_is_the_same_again
    sample = filter(:Sample, rate: 0.1)
    kept = outcome(sample, selection(0...20_000)).first
    assert_in_delta 2_000, kept.size, 200
    assert_equal kept, outcome(sample, selection(0...20_000)).first
    assert_equal [[*0...50], nil, []], outcome(filter(:Sample, rate: 1), selection(0...50))
  end

  def test_a_sample_is_spread_over_the_partition
    kept = outcome(filter(:Sample, rate: 0.25), selection(0...10_000)).first
    kept.group_by { |offset| offset / 1_000 }.each_value { |some| assert_in_delta 250, some.size, 80 }
  end

  def test_the_first_of_each_id_is_consumed
    assert_equal [[0, 1, 2], nil, [3, 4, 5, 6]], outcome(filter(:Deduplicate, by: :key, window: 10), selection(0...7))
    without = filter(:Deduplicate, by: ->(message) { message.offset.even? ? "even" : nil }, window: 10)
    assert_equal [[0, 1, 3, 5], nil, [2, 4]], outcome(without, selection(0...6))
  end

  def test_only_the_last_ids_are_remembered
    deduplicate = filter(:Deduplicate, by: :key, window: 2)
    assert_equal [[*0...6], nil, []], outcome(deduplicate, selection(0...6))
    assert_equal [[], nil, [0]], outcome(deduplicate, selection([8])), "k2 is one of the last two"
  end

  def test_a_message_that_comes_again_is_no_duplicate_of_itself
    deduplicate = filter(:Deduplicate, by: :key, window: 10)
    2.times { assert_equal [[0, 1, 2], nil, [3]], outcome(deduplicate, selection(0...4)) }
    later = filter(:Deduplicate, by: :key, window: 10)
    assert_equal [[6], nil, []], outcome(later, selection([6]))
    assert_equal [[0], nil, [1, 2]], outcome(later, selection([0, 3, 6])), "after a seek the first one counts"
  end
end
