# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/metrics"

class KafkaMinutesTest < GuildhallTest
  def setup
    @deaths = []
    @minutes = Guildhall::Kafka::Reporting::Minutes.new { |workers| @deaths << workers }
  end

  def record(name, value, **tags) = @minutes.record(Guildhall::Kafka::Metrics::BY_NAME.fetch(name), value, tags)

  def test_what_was_done_in_it
    2.times { |partition| record("consumed.messages", 10, group: "g", topic: "t", partition:) }
    record("consumed.bytes", 500, group: "g", topic: "t", partition: 0)
    record("dropped.messages", 3, group: "g", topic: "t", partition: 0)
    record("rejected.messages", 4, group: "g", topic: "t", partition: 0, filter: "throttle")
    record("retries", 1, group: "g", topic: "t", partition: 0)
    record("dead_letters", 2, group: "g", topic: "t", partition: 1, error: "KeyError")
    @minutes.failed(group: "h", topic: "t")
    [[0, 7, 1.5], [1, 2, 0.5], [0, 3, 0.2]].each do |partition, messages, seconds|
      record("lag.messages", messages, group: "g", topic: "t", partition:)
      record("lag.seconds", seconds, group: "g", topic: "t", partition:)
    end
    [1, 2].each { |busy| record("runners.busy", busy) }
    record("commits", 1, group: "g", result: "ok")
    assert_operator @minutes.running.dig(%w[g t], "dead_age"), :>=, 0
    assert_equal [{"consumed" => 20, "bytes" => 500, "dropped" => 3, "rejected" => 4, "retries" => 1, "dead" => 2}, {"errors" => 1}],
      @minutes.running.values_at(%w[g t], %w[h t]).map { |counts| counts.except("dead_age") }
    minute = @minutes.take
    assert_empty @minutes.running
    assert_equal [Float, nil], [minute["topics"].first.delete("dead_age").class, minute["topics"].last["dead_age"]]
    assert_equal [{"group" => "g", "topic" => "t", "consumed" => 20, "bytes" => 500, "dropped" => 3, "rejected" => 4, "retries" => 1, "dead" => 2, "errors" => 0,
                   "lag" => 5, "age" => 1.5},
                  {"group" => "h", "topic" => "t", "consumed" => 0, "bytes" => 0, "dropped" => 0, "rejected" => 0, "retries" => 0, "dead" => 0, "errors" => 1}], minute["topics"]
    assert_equal 1.5, minute["busy"]
    assert_operator minute["rss"], :>, 10_000_000
    assert minute.values_at("seconds", "cpu", "gc").all?(Float)
    after = @minutes.take
    assert_equal [{"consumed" => 0, "lag" => 5, "age" => 0.0}], after["topics"].map { |topic| topic.slice("consumed", "lag", "age") }
    refute after.key?("busy")
  end

  def test_workers_that_die
    record("pool.deaths", 0)
    record("pool.deaths", 2)
    assert_equal [2], @deaths
  end
end
