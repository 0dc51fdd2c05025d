# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaErrorCountsTest < GuildhallTest
  ErrorCounts = Guildhall::Kafka::Reporting::ErrorCounts

  def raised(klass = RuntimeError, text = "boom")
    raise klass, text
  rescue klass => error
    error
  end

  def test_a_storm_is_one_record
    counts = ErrorCounts.new(messages: true)
    1_000.times { |offset| counts.note(error: raised, type: "consumer.consume", message: "boom #{offset}", group: "g", topic: "t", partition: 1, offset:, attempt: 2) }
    record, *others = counts.take
    assert_empty others
    assert_equal ["consumer.consume", "RuntimeError", "boom 0", "g", "t", 1, 0, 2, 1_000],
      record.values_at("type", "class", "message", "group", "topic", "partition", "offset", "attempt", "count")
    assert_equal "test/guildhall/kafka/reporting/error_counts_test.rb:10", record["place"]
    assert_equal record["place"], record["backtrace"].first[/\A.*:\d+/]
    assert_operator record["first"], :<=, record["last"]
    3.times { counts.note(error: raised, type: "consumer.consume") }
    assert_empty counts.take, "within ten seconds of the last one"
    assert_equal [record["fingerprint"], 3], counts.take(all: true).fetch(0).values_at("fingerprint", "count")
    assert_empty counts.take(all: true)
  end

  def test_causes_are_told_apart_by_type_class_and_place
    counts = ErrorCounts.new(messages: true)
    [[raised, "a"], [raised(KeyError), "a"], [raised, "b"], [RuntimeError.new("never raised"), "a"], [raised, "a"]].each { |error, type| counts.note(error:, type:) }
    records = counts.take
    assert_equal [2, 1, 1, 1], records.map { |record| record["count"] }
    assert_equal 4, records.map { |record| record["fingerprint"] }.uniq.size
    assert_nil records.last["place"]
  end

  # So that a fingerprint is the same in every process, and in every folder that a release is unpacked in.
  def test_the_place_is_seen_from_the_folder_of_the_process
    counts = ErrorCounts.new(messages: true)
    error = raised
    error.set_backtrace(["#{Dir.pwd}/app/orders.rb:7:in 'consume'"])
    counts.note(error:, type: "consumer.consume")
    assert_equal ["app/orders.rb:7", ["app/orders.rb:7:in 'consume'"]], counts.take[0].values_at("place", "backtrace")
  end

  def test_without_messages
    counts = ErrorCounts.new(messages: false)
    counts.note(error: raised(RuntimeError, "SECRET"), type: "a", message: "SECRET")
    refute_includes counts.take.inspect, "SECRET"
  end

  def test_nothing_is_without_end
    counts = ErrorCounts.new(messages: true)
    deep = raised
    deep.set_backtrace(Array.new(10_000) { |line| "app/deep.rb:#{line}:in 'call'" })
    counts.note(error: deep, type: "a", message: "x" * 5_000)
    record = counts.take[0]
    assert_equal [20, 1_001], [record["backtrace"].size, record["message"].size]
    300.times { |number| counts.note(error: raised, type: "type #{number}") }
    assert_operator counts.take(all: true).size, :<=, 200
    assert_empty counts.take(all: true), "those that are over are forgotten"
    counts.note(error: raised, type: "another")
    assert_equal 1, counts.take.size
  end

  # Messages of errors are often bytes, and so are paths.
  def test_bytes_that_are_no_text
    counts = ErrorCounts.new(messages: true)
    error = raised
    error.set_backtrace(["\xFF.rb:1".b])
    counts.note(error:, type: "a", message: "\xFF".b)
    assert_kind_of String, Guildhall::JSON.encode(counts.take[0])
  end
end
