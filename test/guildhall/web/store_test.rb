# frozen_string_literal: true

require "test_helper"
require "support/recorded_reports"

# What a page keeps of the topic of reports.
class WebReportsStoreTest < GuildhallTest
  def setup
    @reports = RecordedReports.new
  end

  def view = @reports.view
  def row(...) = RecordedReports.row(...)
  def items = view.attention.map { |item| [item.severity, item.label, item.place] }
  def text(label) = view.attention.find { |item| item.label == label }&.text

  def take(bytes)
    record = PlainRecord.new(topic: "guildhall.reports", partition: 0, offset: 0, timestamp_ms: 1_000, key: "x", raw_payload: bytes, headers: {})
    @reports.store.take(record)
  end

  def test_what_cannot_be_read_is_counted
    [nil, "x", "{}", Zlib.deflate("{}")[0, 5], Zlib.deflate("{}#{" " * 34_000_000}"), "x" * 1_000_001].each { |bytes| take(bytes) }
    ["{", "[]", "\xFF", "{}", %({"v":2,"kind":"state"}), %({"v":1,"kind":"dream"}), %({"v":1,"kind":["state"]}), %({"v":1,"kind":"state","process":"a"})]
      .each { |text| take(Zlib.deflate(text)) }
    assert_equal({"without a value" => 1, "damaged" => 7, "too large" => 1, "of another version of the format" => 2, "of a kind that this page does not know" => 2,
                  "with fields missing" => 1}, view.skipped)
    assert_empty view.processes
  end

  def test_fields_of_other_versions_are_left_out_and_wrong_ones_with_them
    @reports.state("web:7:a", {%w[shop orders] => [{**row(:working, 0), "new" => {"x" => 1}, "lag" => "many", "error" => [1], "rests" => {"dream" => {}}}, {"state" => "x"}, 7]},
      future: [1], rss: "large", runners: {"busy" => 1})
    report = view.processes.first.report
    assert_equal [nil, nil, nil], report.values_at("future", "rss", "runners")
    assert_equal [%w[partition state attempt position committed end_offset age in_memory assigned member without_progress rests].sort],
      report["topics"][0]["partitions"].map { |one| one.keys.sort }
    assert_empty view.skipped
  end

  # By somebody who may write to the topic.
  def test_numbers_that_pages_cannot_count_with_are_left_out
    2.times { |ago| @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 1e308, "lag" => 1e308, "consumed" => 10**400}}, ago: 60 * (ago + 1), seconds: 5e-324, cpu: 1e308) }
    assert_empty view.dead
    assert_equal [[0], []], [view.series["lag"].compact.uniq, view.usage("web:7:a")["cores"].compact]
  end

  def test_of_what_it_is_not_said_how_long_it_lasts
    row = {**row(:backoff, 0), "rests" => {"keys" => {}, "backoff" => {"since" => 1}}, "error" => RecordedReports::OUTAGE.except("since")}
    @reports.state("web:7:a", {%w[shop orders] => [row]})
    assert_equal [[:bad, "backing off", "orders/0"]], items
  end

  def test_an_event_that_is_too_large_to_be_kept_many_times
    @reports.event("web:7:a", "outcome", "x", trace: ["x" * 999] * 250)
    @reports.event("web:7:a", "outcome", "x", trace: ["x" * 500] * 300)
    assert_equal [{"too large" => 1}, 1], [view.skipped, view.events.size]
  end

  def test_a_process_that_reports_no_more_is_lost_unless_it_has_ended
    @reports.state("web-1:7:a", {%w[shop orders] => [row(:working, 0), row(:working, 1)]}, ago: 41, rss: 800 << 20)
    @reports.state("web-2:7:a", {%w[shop orders] => [row(:working, 1)]})
    @reports.state("web-3:7:a", ago: 50, state: "stopped")
    @reports.state("web-4:7:a", ago: 39)
    assert_equal [["web-1:7:a"], %w[web-2:7:a web-4:7:a]], [view.lost, view.live].map { |some| some.map(&:name).sort }
    assert_equal [[:bad, "lost", "web-1:7"], [:warn, "silent", "web-4:7"]], items
    assert_match(%r{has not reported since \d\d:\d\d:\d\d UTC: the system has probably killed it for its memory; it had orders/0-1 and 800 of 838 MiB of memory; no process that reports has orders/0 now; what to do: start it again}, text("lost"))
    @reports.state("web-5:7:a", {%w[shop orders] => [row(:working, 0)]})
    assert_equal [[:warn, "lost", "web-1:7"], [:warn, "silent", "web-4:7"]], items
    assert_match(/other processes have its partitions by now; what to do/, text("lost"))
    @reports.state("web-5:7:a", {%w[shop orders] => [row(:working, 0).merge("assigned" => 20.0)]}, ago: 1)
    assert_match(/other processes have its partitions by now, since \d\d:\d\d:\d\d UTC: 20 s after its last report; what to do/, text("lost"))
    @reports.event("web-1:8:a", "process_ended", "process 1 of the swarm (pid 7) has ended: SIGKILL (signal 9)", host: "web-1", pid: 7)
    assert_match(/killed it for its memory \(process 1 of the swarm \(pid 7\) has ended: SIGKILL \(signal 9\)\); /, text("lost"))
  end

  def test_a_process_that_is_late_is_said_to_be_silent_before_it_is_lost
    @reports.state("web:6:a", {%w[shop orders] => [row(:working, 1)]}, ago: 30)
    @reports.state("web:7:a")
    assert_equal [[:warn, "silent", "web:6"]], items
    assert_match(%r{had orders/1 .*; this page shows what it did then}, text("silent"))
    assert_equal(%w[silent running], %w[web:6:a web:7:a].map { |name| view.process(name).state(view.now) })
  end

  def test_when_nobody_reports_the_brokers_may_be_the_reason
    3.times { |index| @reports.state("web-#{index}:7:a", ago: 50) }
    assert_equal [[:bad, "silence", "All 3 processes"]], items
  end

  def test_the_clock_is_the_brokers
    @reports.state("web:7:a", ago: -100)
    assert_in_delta 100, view.now - @reports.now, 1
    @reports = RecordedReports.new
    @reports.state("web:7:a", ago: 100, fresh: true)
    assert_in_delta(-100, view.now - @reports.now, 1)
    assert_empty view.lost
    @reports = RecordedReports.new
    @reports.state("web:7:a", ago: 100)
    assert_equal 1, view.lost.size
  end

  def test_a_report_that_has_not_arrived
    @reports.write({**@reports.any("state", "web:7:a", 20), "state" => "running", "seq" => 1}, ago: 20)
    @reports.write({**@reports.any("state", "web:7:a", 10), "state" => "running", "seq" => 4}, ago: 10)
    assert_equal 2, view.processes.first.missed
  end

  def test_what_is_read_twice_or_late_changes_nothing
    @reports.state("web:7:a", ago: 2, state: "quiet")
    @reports.state("web:7:a", ago: 30)
    assert_equal "quiet", view.processes.first.report["state"]
  end

  def test_rebalances
    @reports.state("web:7:a")
    3.times { |index| 5.times { |process| @reports.event("web-#{process}:7:a", "rebalanced", "group shop rebalanced", ago: 60 * (index + 1), group: "shop") } }
    assert_empty items
    @reports.event("web-1:7:a", "rebalanced", "group shop rebalanced", ago: 500, group: "shop")
    assert_equal [[:warn, "rebalances", "group shop"]], items
    assert_match(/has rebalanced 4 times in 10 minutes/, text("rebalances"))
  end

  def test_dead_letters_with_their_cause
    @reports.state("web:7:a", {%w[shop orders] => [row(:working, 0)]}, release: "b")
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 213}}, ago: 120)
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 5}}, ago: 4_000)
    assert_equal "took 213 messages of orders in the last hour, the last 2m34s ago; what to do: correct the error, then replay the dead letters",
      text("dead letters").sub(/last \d+m\d\ds ago/, "last 2m34s ago")
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 209, release: "a")
    @reports.error("web:7:a", "p2", RecordedReports::OUTAGE, group: "shop", topic: "orders", count: 900)
    assert_match(/: KeyError \(app.consumers.orders_consumer.rb:12\), raised by 209 attempts in the last hour; what to do: correct the error, then replay/, text("dead letters"))
  end

  def test_a_partition_that_still_stands_where_it_was_stalled_before_its_group_has_rebalanced
    behind = row(:working, 3).merge("position" => 310, "lag" => 550)
    2.times { |index| @reports.event("web:7:a", "stalled", "stalled", ago: 200 - (100 * index), group: "shop", topic: "orders", partition: 3, position: 310, action: %w[seek rejoin][index]) }
    report = ->(row) { {**@reports.any("state", "web:7:a", 0), "state" => "running", "topics" => [RecordedReports.topic("shop", "orders", [row, row(:working, 4)])]} }
    @reports.write(report.call(behind), ago: 5)
    assert_equal [[:bad, "stalled", "orders/3"]], items
    assert_match(/no message has come from offset 310 on for 3m\d\ds, although there are more; it has tried a seek and rejoining the group.*restart the process/, text("stalled"))
    @reports.write(report.call(behind.except("position")), ago: 3)
    assert_equal [[:bad, "stalled", "orders/3"]], items, "it has read nothing yet where it is assigned now"
    @reports.write(report.call(behind.merge("position" => 311)), ago: 1)
    assert_equal [[:warn, "has stalled", "orders/3"]], items
    assert_match(/it stalled at offset 310 3m\d\ds ago, and moved on after a seek and rejoining the group/, text("has stalled"))
  end

  # Before the minute has ended in which they came.
  def test_dead_letters_of_the_minute_that_is_not_over
    topic = {**RecordedReports.topic("shop", "orders", [row(:working, 0)]), "minute" => {"dead" => 3, "errors" => 6}}
    state = ->(ago) { @reports.write({**@reports.any("state", "web:7:a", ago), "state" => "running", "topics" => [topic]}, ago:) }
    state.call(30)
    assert_equal [3, 30, 30], view.dead.fetch(%w[shop orders]).then { |count, *times| [count, *times.map { |at| (@reports.now - at).round }] }
    assert_match(/\Atook 3 messages of orders in the last hour, the last 30 s ago/, text("dead letters"))
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 3}}, ago: 20)
    assert_equal 3, view.dead.fetch(%w[shop orders]).first, "the minute has them, too"
    state.call(10)
    assert_equal 6, view.dead.fetch(%w[shop orders]).first
  end

  def test_when_the_last_dead_letter_came_and_not_its_report
    topic = {**RecordedReports.topic("shop", "orders", [row(:working, 0)]), "minute" => {"dead" => 1, "dead_age" => 24.0}}
    last = -> { (@reports.now - view.dead.fetch(%w[shop orders]).last).round }
    @reports.write({**@reports.any("state", "web:7:a", 3), "state" => "running", "topics" => [topic]}, ago: 3)
    assert_equal 27, last.call
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 1, "dead_age" => 26.0}}, ago: 1)
    assert_equal 27, last.call
  end

  def test_a_bad_release_is_recognised_by_its_first_error
    @reports.event("web:6:a", "started", "started", release: "v1", ago: 3_000)
    @reports.state("web:7:a", {%w[shop orders] => [row(:working, 0)]}, release: "v2", started: @reports.now - 12)
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 1, release: "v2", ago: 3)
    item, = view.attention
    assert_equal [:warn, "errors", "orders", "1 error in the last ten minutes"], [item.severity, item.label, item.place, item.what]
    assert_equal "KeyError (app/consumers/orders_consumer.rb:12), raised by 1 attempt in the last hour; began with release v2, as soon as that was started; " \
                 "release v1 before it did not have this error", item.why
    assert_equal "go back to release v1, or correct the error", item.help
    @reports.error("web:6:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 1, release: "v1", ago: 2_000)
    assert_empty items, "it is as old as the release before, and one error is not much"
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 4, release: "v2", ago: 1)
    assert_equal [[:warn, "errors", "orders"]], items
  end

  def test_messages_that_have_just_failed_are_said_with_the_dead_letters_of_their_cause
    failing = row(:retrying, 0).merge("age" => 0.5, "error" => {**RecordedReports::COUNTED, "since" => 0.2})
    topic = {**RecordedReports.topic("shop", "orders", [failing]), "minute" => {"dead" => 3}}
    report = -> { @reports.write({**@reports.any("state", "web:7:a", 1), "state" => "running", "topics" => [topic]}, ago: 1) }
    report.call
    assert_equal [[:warn, "dead letters", "orders.dead"], [:note, "backing off", "orders/0"]], items
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", ago: 1)
    report.call
    assert_equal [[:warn, "dead letters", "orders.dead"]], items
  end

  # What a partition says, or an outage, is not said again.
  def test_errors_that_are_said_elsewhere
    @reports.state("web:7:a", {%w[shop orders] => [row(:retrying, 0)], %w[shop payments] => [row(:backoff, 1)]})
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 90, ago: 1)
    @reports.error("web:7:a", "p2", RecordedReports::OUTAGE, group: "shop", topic: "payments", count: 90, ago: 1)
    assert_equal [[:bad, "outage", "payments/1"], [:warn, "backing off", "orders/0"]], items
  end

  def test_errors_count_for_ten_minutes
    {700 => 5, 500 => 7, 1 => 2}.each { |ago, count| @reports.error("web:7:a", "p1", RecordedReports::COUNTED, count:, ago:) }
    assert_equal [9, 14], [view.recent_errors, view.causes.first.count]
  end

  def test_a_process_whose_probes_fail_is_not_well
    stalled = [{"code" => "stalled", "text" => "orders/0 is stalled"}]
    @reports.state("web:6:a", live: stalled)
    @reports.state("web:7:a", ready: [{"code" => "no_broker", "text" => "no broker answers"}])
    @reports.state("web:8:a")
    assert_equal(["unhealthy", "not ready", "running"], %w[web:6:a web:7:a web:8:a].map { |name| view.process(name).state(view.now) })
  end

  # It grows too fast for the last report to be near the limit.
  def test_a_process_that_was_probably_killed_for_its_memory
    [70, 60, 50].each_with_index do |ago, index|
      @reports.write({**@reports.any("state", "web:7:a", ago), "state" => "running", "rss" => (200 + (100 * index)) << 20, "rss_limit" => 480 << 20, "topics" => []}, ago:)
    end
    assert_in_delta 600 << 20, view.growth("web:7:a"), 30 << 20
    assert_match(/: the system has probably killed it for its memory; it had no partition and 400 of 480 MiB of memory, which grew by \d+ MiB a minute/, text("lost"))
  end

  def test_what_has_happened_before_a_partition_has_stalled
    @reports.event("web:7:a", "rebalanced", "group shop rebalanced", ago: 270, group: "shop")
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", partition: 3, offset: 309, ago: 320)
    @reports.event("web:7:a", "stalled", "stalled", ago: 253, group: "shop", topic: "orders", partition: 3, position: 8_120_455, action: "seek")
    @reports.state("web:7:a", {%w[shop orders] => [row(:stalled, 3)]})
    assert_match(/\Aits group had rebalanced 1\d s before; its last error: KeyError, at offset 309, 5m\d\ds ago\z/, view.attention.first.more)
  end

  def test_limits
    @reports = RecordedReports.new(limits: Guildhall::Kafka::Reporting::Limits.given({old: 1, dead_letters: 300, rebalances: 0}))
    @reports.state("web:7:a", {%w[shop orders] => [row(:working, 0)]})
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 213}}, ago: 120)
    @reports.event("web-1:7:a", "rebalanced", "group shop rebalanced", ago: 500, group: "shop")
    assert_equal [[:warn, "rebalances", "group shop"], [:warn, "behind", "orders/0"]], items
  end

  def test_a_release_of_which_no_process_is_left
    @reports.event("web:6:a", "started", "started", release: "a", ago: 3_000)
    @reports.state("web:7:a", {%w[shop orders] => [row(:working, 0)]}, release: "b", started: @reports.now - 130)
    @reports.minute("web:7:a", {%w[shop orders] => {"dead" => 213}}, ago: 120)
    @reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 209, release: "b")
    assert_match(/began with release b, [\dms]+( s)? after its start; release a before it did not have this error; what to do: go back to release a, or correct the error, then/, text("dead letters"))
  end

  def test_tasks_versions_and_what_has_failed
    @reports.state("web:7:a", guildhall: "99.0.0")
    @reports.state("web:8:a", state: "failed", failure: "GROUP_AUTHORIZATION_FAILED")
    2.times { |index| @reports.event("web:7:a", "task_failed", "task report failed: IOError", ago: 60 + index) }
    assert_equal [[:bad, "failed", "web:8"], [:warn, "task failed", "Schedule:"], [:note, "versions", "Guildhall"]], items
    assert_equal "99.0.0 in 1 process, #{Guildhall::VERSION} here: the page shows what both know", text("versions")
  end

  def test_history_has_a_number_for_each_minute
    [200, 140, 139].each { |ago| @reports.minute("web:7:a", {%w[shop orders] => {"consumed" => ago, "age" => 0.5}}, ago:) }
    @reports.minute("web:8:a", {%w[shop emails] => {"consumed" => 1, "age" => 2.0}}, ago: 139)
    series = view.series(minutes: 5)
    assert_equal 5, series["at"].size
    assert_equal 480, series["consumed"].compact.sum
    assert_equal [479, 0.5], [view.series(minutes: 5, group: "shop", topic: "orders")["consumed"].compact.sum, view.series(minutes: 5, topic: "orders")["age"].compact.max]
    assert_includes series["consumed"], nil
    assert_equal 60, view.usage("web:7:a")["rss"].size
  end

  def test_memory_is_bounded
    1_200.times { |index| @reports.error("web:7:a", "p#{index}", RecordedReports::COUNTED, ago: 1_300 - index) }
    2_100.times { |index| @reports.event("web:7:a", "started", "x", ago: 2_200 - index) }
    1_010.times { |index| @reports.write({**@reports.any("state", "web:#{index}:a", 5), "state" => "running"}, ago: 5) }
    assert_equal [500, 2_000, 1_000], [view.causes.size, view.events.size, view.processes.size]
    assert view.cause("p1199")
    30.times { |index| @reports.error("web:#{index}:a", "p1199", RecordedReports::COUNTED, ago: 60, topic: "orders", partition: 0, offset: index) }
    assert_equal [10, 29], [view.cause("p1199").samples.size, view.cause("p1199").samples.first.offset]
  end

  def test_names_of_topics_beyond_those_that_are_counted_are_not_kept
    3.times { |round| @reports.minute("web:7:a", Array.new(600) { |index| ["shop", "orders-#{round}-#{index}"] }.to_h { |place| [place, {"consumed" => 1}] }) }
    history = @reports.store.instance_variable_get(:@history)
    assert_operator history.instance_variable_get(:@places).size, :<=, 1_000
  end

  # States of processes that have ended before what is read of them.
  def test_whose_last_words_are_to_be_looked_for
    @reports.minute("web:7:a")
    @reports.minute("web:8:a")
    @reports.minute("web:9:a")
    @reports.state("web:8:a")
    @reports.event("web:9:a", "stopped", "stopped")
    @reports.event("web:10:a", "started", "started", ago: 200) # and killed within its first minute
    @reports.event("web:11:a", "started", "started", ago: 4_000)
    assert_equal %w[web:10:a web:7:a], @reports.store.unheard.keys
  end
end
