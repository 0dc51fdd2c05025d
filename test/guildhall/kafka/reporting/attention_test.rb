# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/reporting/attention"

class KafkaAttentionTest < GuildhallTest
  Attention = Guildhall::Kafka::Reporting::Attention
  FAILED = {"error_class" => "KeyError", "message" => "key not found", "place" => "app/orders.rb:7", "kind" => "counted", "failures" => 2,
            "offset" => 4711, "since" => 75.0, "last" => 3.0, "now" => true}.freeze
  ROW = {"partition" => 3, "state" => "waiting", "attempt" => 1, "position" => 9, "lag" => 0, "age" => 0.0, "in_memory" => 0}.freeze
  BACKOFF = {**ROW, "state" => "backoff", "lag" => 5, "age" => 80.0, "attempt" => 3, "rests" => {"backoff" => {"since" => 3.0, "left" => 12.0}},
             "error" => FAILED}.freeze

  def report(*rows, topic: {}, **more)
    {"v" => 1, "kind" => "state", "process" => "web:7:x", "host" => "web", "pid" => 7, "live" => [], "ready" => [],
     "topics" => [{"topic" => "orders", "group" => "shop", "partitions" => rows, **topic}], **more.transform_keys(&:to_s)}
  end

  def items(...) = Attention.of([report(...)]).map { |item| [item.severity, item.place, item.text] }
  def text(row, **) = items(row, **).fetch(0).last

  def test_nothing
    assert_empty items(ROW)
    assert_empty items({**ROW, "lag" => 5, "age" => 3.0, "state" => "working"})
  end

  def test_a_message_that_waits_for_a_runner
    assert_equal "queued, waits for a runner for 1m10s: all are busy", text({**ROW, "lag" => 5, "state" => "queued", "without_progress" => 70.0})
    assert_equal "working, at work for 1m10s without progress", text({**ROW, "lag" => 5, "state" => "working", "without_progress" => 70.0})
  end

  def test_a_message_that_fails
    assert_equal [[:warn, "orders/3",
                   "backing off, the next attempt comes in 12 s, at offset 4711, KeyError: key not found at app/orders.rb:7 (counts as an " \
                   "attempt, 2 times for 1m15s), the oldest message is 1m20s old, it is given up after 3 retries, and goes to dead"]],
      items(BACKOFF, topic: {"max_retries" => 3, "dead_letter_topic" => "dead"})
    assert_match(/there is no dead letter queue: it is repeated until that works\z/, text(BACKOFF))
    assert_match(/it is given up after 1 retry\z/, text(BACKOFF, topic: {"max_retries" => 1}))
    outage = {**BACKOFF, "error" => {**FAILED, "kind" => "outage"}}
    assert_match(/\(an outage: repeated for as long as it lasts, nothing is dead-lettered, 2 times for 1m15s\), the oldest message is 1m20s old\z/, text(outage))
  end

  def test_the_same_cause_is_said_once
    rows = [0, 1, 2, 5].map { |number| {**BACKOFF, "partition" => number, "age" => 70.0 + number} }
    found = items(*rows, {**BACKOFF, "error" => {**FAILED, "error_class" => "IOError"}})
    assert_equal ["orders, partitions 0-2, 5", "orders/3"], found.map { |item| item[1] }
    assert_match(%r{\Afor example orders/5: backing off, }, found.first.last)
  end

  def test_what_lasts_is_worse
    assert_equal [:bad, :bad, :bad, :bad, :warn, :note, :note, nil],
      [{**BACKOFF, "age" => 301.0}, {**ROW, "state" => "stalled"}, {**ROW, "state" => "blocked"}, {**ROW, "state" => "denied"},
       {**ROW, "without_progress" => 61.0}, {**ROW, "state" => "paused", "lag" => 5, "age" => 900.0}, {**ROW, "parked" => {"keys" => 1}},
       {**ROW, "age" => 900.0}].map { |row| Attention.severity(row) }
  end

  # In a topic whose messages are delayed for ten minutes they are always old.
  def test_what_a_filter_postpones_needs_nobody_now
    row = {**ROW, "lag" => 5, "age" => 400.0, "state" => "filter", "rests" => {"filter" => {"since" => 1.0, "left" => 200.0}}}
    assert_equal [[:warn, "orders/3", "postponed, a filter postpones the next message for 3m20s more, the oldest message is 6m40s old"]], items(row)
  end

  def test_the_worst_comes_first
    stalled = {**ROW, "state" => "stalled", "stalled" => {"position" => 9, "since" => 240.0, "tried" => %w[seek rejoin]}}
    found = items(BACKOFF, {**stalled, "partition" => 4}, live: [{"code" => "stalled", "text" => "orders/4 is stalled"}],
      ready: [{"code" => "no_broker", "text" => "group shop: no broker answers, for 7 s"}])
    assert_equal [[:bad, "orders/4"], [:warn, "web:7"], [:warn, "orders/3"]], found.map { |item| item.first(2) }
    assert_equal "stalled, at offset 9 for 4m00s although there is more to read: a seek was tried, then the group is rejoined", found[0].last
    assert_match(/: consuming goes on by itself once they do; guildhall check finds out what is wrong\z/, found[1].last)
  end

  def test_processes
    assert_equal [[:bad, "web:7", "490 of 512 MiB of memory are used: beyond that the system kills the process"]],
      items(rss: 490 << 20, rss_limit: 512 << 20)
    assert_match(/have died too often/, items(pool: {"breaker_open" => true})[0].last)
    member = {"commit_error" => "NOT_COORDINATOR", "commits" => 7, "failed_commits" => 2}
    assert_equal [:warn, "group shop"], items(groups: [{"group" => "shop", "members" => [member]}])[0].first(2)
    assert_equal [[:note, "web:7", "quiet: no new work is begun, CONT ends that"]],
      items(state: "quiet", ready: [{"code" => "draining", "text" => "draining"}])
  end

  def test_a_swarm
    swarm = {"kind" => "swarm", "process" => "web:1", "host" => "web", "pid" => 1,
             "processes" => [{"number" => 1, "pid" => 2}, {"number" => 2, "ended" => "SIGKILL (signal 9)"}, {"number" => 3, "pid" => 4, "ended" => "exit 1"}]}
    assert_equal [[:bad, "process 2 of the swarm web:1", "it does not run: SIGKILL (signal 9)"],
                  [:note, "process 3 of the swarm web:1", "it was started again, the one before has ended: exit 1"]],
      Attention.of([swarm]).map { |item| [item.severity, item.place, item.text] }
  end

  # Within a version fields are only added, and states may come.
  def test_a_report_of_another_version
    assert_equal [[:bad, "orders/3", "melting, the oldest message is 15m00s old"]], items({**ROW, "state" => "melting", "lag" => 7, "age" => 900.0, "new" => {}})
  end
end
