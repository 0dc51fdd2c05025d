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
    assert_equal "no free runner: all runners are busy, it has waited for 1m10s", text({**ROW, "lag" => 5, "state" => "queued", "without_progress" => 70.0})
    row = {**ROW, "lag" => 5, "state" => "working", "without_progress" => 70.0}
    assert_equal "hanging: its consumer has not finished a message for 1m10s, at offset 9; what to do: kill -TTIN 7 on web writes into the log where each " \
                 "thread is; then restart that process", text(row)
  end

  def test_a_message_that_fails
    assert_equal [[:warn, "orders/3",
                   "backing off: KeyError: key not found (app/orders.rb:7), 2 attempts failed in 1m15s; next attempt in 12 s, from offset 4711; " \
                   "the oldest message is 1m20s old; what to do: correct the code, or the data it fails on; after 3 retries the message goes to dead"]],
      items(BACKOFF, topic: {"max_retries" => 3, "dead_letter_topic" => "dead"})
    assert_match(/there is no dead letter queue, so the message is retried until it succeeds\z/, text(BACKOFF))
    assert_match(/after 1 retry the message is dropped\z/, text(BACKOFF, topic: {"max_retries" => 1}))
    outage = {**BACKOFF, "error" => {**FAILED, "kind" => "outage"}}
    assert_equal "outage: KeyError: key not found (app/orders.rb:7), 2 attempts failed in 1m15s; counts as an outage: the message is retried until it succeeds, " \
                 "and does not become a dead letter; next attempt in 12 s, from offset 4711; the oldest message is 1m20s old; what to do: " \
                 "bring back what it cannot reach: it goes on by itself then", text(outage)
  end

  def test_the_same_cause_is_said_once
    rows = [0, 1, 2, 5].map { |number| {**BACKOFF, "partition" => number, "age" => 70.0 + number} }
    found = items(*rows, {**BACKOFF, "error" => {**FAILED, "error_class" => "IOError"}})
    assert_equal ["orders, partitions 0-2, 5", "orders/3"], found.map { |item| item[1] }
    assert_match(%r{\Abacking off: the worst is orders/5: KeyError: }, found.first.last)
  end

  # One that fails now and then is retried: that is what retries are for.
  def test_a_message_that_has_just_failed_is_worth_knowing
    assert_equal %i[note warn], [9.0, 11.0].map { |since| Attention.severity({**BACKOFF, "age" => 5.0, "error" => {**FAILED, "since" => since}}) }
  end

  def test_what_lasts_is_worse
    assert_equal [:bad, :bad, :bad, :bad, :warn, :note, :note, nil],
      [{**BACKOFF, "age" => 301.0}, {**ROW, "state" => "stalled"}, {**ROW, "state" => "blocked"}, {**ROW, "state" => "denied"},
       {**ROW, "without_progress" => 61.0}, {**ROW, "state" => "paused", "lag" => 5, "age" => 900.0}, {**ROW, "parked" => {"keys" => 1}},
       {**ROW, "age" => 900.0}].map { |row| Attention.severity(row) }
  end

  # In several partitions, and with the probe /live that fails because of it: that is one cause.
  def test_consumers_that_hang_are_one_line
    row = {**ROW, "lag" => 5, "age" => 222.0, "state" => "working", "without_progress" => 222.0, "overdue" => true, "working_at" => "app/labels.rb:10"}
    live = [0, 1].map { |number| {"code" => "overdue", "text" => "orders/#{number}: at work for 3m42s without progress"} }
    found = Attention.of([report({**row, "partition" => 0}, {**row, "partition" => 1}, live:, max_consume_time: 120.0)])
    assert_equal [[:bad, "hanging", "orders, partitions 0-1"]], found.map { |item| [item.severity, item.label, item.place] }
    assert_equal "the worst is orders/0: its consumer has not finished a message for 3m42s, at offset 9; it is at app/labels.rb:10 now; longer than " \
                 "max_consume_time allows (2m00s), so the probe /live fails; the oldest message is 3m42s old", found.first.why
  end

  def test_a_key_that_blocks
    error = {**FAILED, "failures" => 9, "since" => 141.0}
    parked = {"keys" => 1, "messages" => 28, "oldest" => [{"key" => "ada", "offset" => 2, "messages" => 28, "age" => 141.0, "attempt" => 10, "left" => 8.0, "error" => error}]}
    item, = Attention.of([report({**ROW, "lag" => 28, "age" => 141.0, "parked" => parked})])
    assert_equal ["key parked", "key ada is parked with 28 messages, from offset 2 on; other keys go on; next attempt in 8 s; KeyError: key not found " \
                                "(app/orders.rb:7), 9 attempts failed in 2m21s; the oldest message is 2m21s old", "KeyError"],
      [item.label, item.why, item.error["error_class"]]
    assert_equal "correct the code, or the data it fails on: there is no dead letter queue, so the message is retried until it succeeds", item.help
  end

  # Before the watchdog does something about it.
  def test_a_partition_that_gets_no_message
    row = {**ROW, "lag" => 550, "age" => 90.0, "assigned" => 200.0}
    item, = Attention.of([report(row)])
    assert_equal ["not moving", "no message of it is in memory or in work: none comes from the broker; the oldest message is 1m30s old"], [item.label, item.why]
    assert_equal "behind", Attention.of([report({**row, "assigned" => 5.0})]).first.label
  end

  def test_limits
    limits = Guildhall::Kafka::Reporting::Limits.given({old: 10, memory: 0.5, topics: {"emails" => {old: 600, very_old: 900}}})
    row = {**ROW, "lag" => 5, "age" => 20.0, "state" => "working"}
    reports = [report(row, rss: 60, rss_limit: 100), report({**row, "age" => 400.0}, topic: {"topic" => "emails"})]
    assert_equal ["web:7", "orders/3"], Attention.of(reports, limits:).map(&:place)
    assert_equal [nil, :warn, nil], [Attention.severity(row), Attention.severity(row, limits: limits.of("orders")), Attention.severity(row, limits: limits.of("emails"))]
  end

  def test_memory_that_a_control_group_shares
    assert_equal [:bad], items(rss: 100 << 20, rss_limit: 512 << 20, memory_used: 510 << 20).map(&:first)
  end

  # In a topic whose messages are delayed for ten minutes they are always old.
  def test_what_a_filter_postpones_needs_nobody_now
    row = {**ROW, "lag" => 5, "age" => 400.0, "state" => "filter", "rests" => {"filter" => {"since" => 1.0, "left" => 200.0}}}
    assert_equal [[:warn, "orders/3", "postponed: a filter delays the next message, for 3m20s more; the oldest message is 6m40s old"]], items(row)
  end

  def test_the_worst_comes_first
    stalled = {**ROW, "state" => "stalled", "stalled" => {"position" => 9, "since" => 240.0, "tried" => %w[seek rejoin]}}
    found = items(BACKOFF, {**stalled, "partition" => 4}, live: [{"code" => "stalled", "text" => "orders/4 is stalled"}],
      ready: [{"code" => "no_broker", "text" => "group shop: no broker answers, for 7 s"}])
    assert_equal [[:bad, "orders/4"], [:warn, "web:7"], [:warn, "orders/3"]], found.map { |item| item.first(2) }
    assert_equal "stalled: no message has come from offset 9 on for 4m00s, although there are more; it has tried a seek and rejoining the group; what to do: " \
                 "restart the process; if that does not help either, look at the broker that leads the partition (guildhall cluster)", found[0].last
    assert_match(/it goes on by itself once they answer; guildhall check finds out what is wrong\z/, found[1].last)
  end

  def test_processes
    assert_equal [[:bad, "web:7", "490 of 512 MiB of memory are used (95 %): at the limit the system kills the process; what to do: restart it before " \
                                  "that happens; then find what makes its memory grow, or raise its limit"]],
      items(rss: 490 << 20, rss_limit: 512 << 20)
    assert_equal :warn, items(rss: 440 << 20, rss_limit: 512 << 20)[0].first
    assert_empty items(rss: 430 << 20, rss_limit: 512 << 20)
    assert_match(/have died too often/, items(pool: {"breaker_open" => true})[0].last)
    member = {"commit_error" => "NOT_COORDINATOR", "commits" => 7, "failed_commits" => 2}
    assert_equal [:warn, "group shop"], items(groups: [{"group" => "shop", "members" => [member]}])[0].first(2)
    assert_equal [[:note, "web:7", "quiet: it begins no new work until the signal CONT"]],
      items(state: "quiet", ready: [{"code" => "draining", "text" => "draining"}])
  end

  def test_a_swarm
    swarm = {"kind" => "swarm", "process" => "web:1", "host" => "web", "pid" => 1,
             "processes" => [{"number" => 1, "pid" => 2}, {"number" => 2, "ended" => "SIGKILL (signal 9)"}, {"number" => 3, "pid" => 4, "ended" => "exit 1"}]}
    assert_equal [[:bad, "process 2 of the swarm web:1", "does not run: SIGKILL (signal 9)"],
                  [:note, "process 3 of the swarm web:1", "was started again: the one before has ended with exit 1"]],
      Attention.of([swarm]).map { |item| [item.severity, item.place, item.text] }
  end

  # Within a version fields are only added, and states may come.
  def test_a_report_of_another_version
    assert_equal [[:bad, "orders/3", "melting: the oldest message is 15m00s old; what to do: start more processes, up to one for each partition, or find what " \
                                     "makes consumers slow"]], items({**ROW, "state" => "melting", "lag" => 7, "age" => 900.0, "new" => {}})
  end

  def test_the_same_cause_in_several_processes_is_said_once
    reports = [1, 2].map { |number| report({**BACKOFF, "partition" => number}, process: "web:#{number}:x", at: 1_000.0) }
    item, = Attention.of(reports)
    assert_equal ["orders, partitions 1-2", "shop", "orders", [1, 2], 10, 925.0, "KeyError"],
      [item.place, item.group, item.topic, item.partitions, item.messages, item.began, item.error["error_class"]]
  end

  def test_a_partition_that_catches_up_is_less_urgent
    old = {**ROW, "lag" => 5, "state" => "working", "age" => 400.0}
    before = {"web:7:x" => report({**old, "age" => 410.0})}
    assert_equal [[:warn, "behind", "the oldest message is 6m40s old and getting younger"]],
      Attention.of([report(old)], before:).map { |item| [item.severity, item.label, item.why] }
    assert_equal :bad, Attention.of([report({**old, "age" => 420.0})], before:).first.severity
    assert_equal :note, Attention.severity({**old, "age" => 70.0}, catches_up: true)
  end
end
