# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"
require "guildhall/web"

# What releases have stored in brokers is read by this one; what a later release stores is refused, or left out, as docs/api.md says.
class StoredFormatsTest < GuildhallTest
  Kafka = Guildhall::Kafka
  Newer = Kafka::NewerFormatError
  Record = Data.define(:topic, :partition, :offset, :timestamp, :key, :raw_payload, :headers) do
    alias_method :raw_key, :key
    alias_method :raw_headers, :headers
    def tombstone? = raw_payload.nil?
  end

  def stored(name) = File.binread(File.join(__dir__, "fixtures/stored/0.1", name))
  def json(name) = JSON.parse(stored(name))
  def record(payload: "bytes", key: "k", headers: {}, offset: 0) = Record.new("orders.dead", 0, offset, Time.at(1), key, payload, headers)

  def test_offset_metadata
    ranges = Kafka::Partition::DoneRanges
    text = stored("offset_metadata")
    assert_equal [[103...105, 140...1_000], "mine", 1], [ranges.load(100, text), ranges.text(text), ranges.version(text)]
    assert_equal text.b, ranges.dump(100, [103...105, 140...1_000], "mine").b
  end

  # A member of an earlier release does again what is done behind the offset, and keeps the user's text.
  def test_offset_metadata_of_a_later_release_is_left_out
    ranges = Kafka::Partition::DoneRanges
    assert_equal [[], "mine"], [ranges.load(100, "mine\u241Fgh2:?"), ranges.text("mine\u241Fgh2:?")]
  end

  def test_marks_of_dead_letters
    marks = Kafka::Broker::LetterMarks.new(2, stored("dead_letter_marks"), 0)
    assert_equal [:replayed, :replayed, nil, nil, :discarded, :discarded, nil, nil, :replayed, nil], (0..9).map { |offset| marks.of(offset) }
    assert_equal stored("dead_letter_marks"), marks.dump.last.b
  end

  def test_marks_of_a_later_release_are_not_written_over
    ["gd2:?", "\u241Fgh2:?", "gd1:0;4.2\u241Fgh2:?"].each do |text|
      error = assert_raises(Newer) { Kafka::Broker::LetterMarks.new(2, text, 0) }
      assert_match(/has version 2 of its format, from a later release of Guildhall; this one knows 1: update this process/, error.message)
    end
  end

  def test_marks_that_are_no_text_are_none
    assert_nil Kafka::Broker::LetterMarks.new(2, "gd\xFF1:".b, 0).of(5)
    assert_nil Kafka::Broker::LetterMarks.new(2, "gd\xFF1:", 0).of(5)
  end

  # It still has what that release has written.
  def test_a_retry_of_a_later_release_that_fails_again_keeps_its_version
    topic = Struct.new(:group, :retry_topic?).new("shop", true)
    raw_headers = json("dead_letter_headers.json").merge("guildhall_source_version" => "2")
    message = Data.define(:topic, :partition, :offset, :raw_headers).new("retries", 0, 1, raw_headers)
    headers = Kafka::DeadLetterQueue::DeadLetterHeaders.for(message, topic, 1, KeyError.new("no"))
    assert_equal %w[2 orders 5], headers.values_at("guildhall_source_version", "source_topic", "source_attempts")
  end

  def test_headers_of_dead_letters_and_retries
    letter = Kafka::DeadLetterQueue::DeadLetter.from(record(headers: json("dead_letter_headers.json")))
    assert_equal ["orders/3@4711", "shop", 4, Time.utc(2026, 11, 27, 9, 0, 0.25), {"trace" => "1"}],
      [letter.source, letter.source_group, letter.attempts, letter.first_failed_at, letter.original_headers]
    assert_equal "KeyError: key not found (app/orders.rb:7:in 'OrdersConsumer#consume')", letter.error
    assert_equal 1, Kafka::DeadLetterQueue::DeadLetterHeaders.version(letter.headers)
  end

  def test_headers_that_this_release_writes_say_their_version
    kafka = KafkaPartition.new(Class.new(Kafka::Consumer) { def consume = raise("no price") }) { dead_letter_queue topic: "dead", max_retries: 0 }
    kafka.deliver(0...1).work
    headers = kafka.application.dead_letters.first[:headers]
    assert_empty json("dead_letter_headers.json").keys - ["trace", "source_error_message", *headers.keys]
    assert_equal "1", headers["guildhall_source_version"]
  end

  def test_a_dead_letter_of_a_later_release_is_shown_and_not_replayed
    letter = Kafka::DeadLetterQueue::DeadLetter.from(record(headers: {**json("dead_letter_headers.json"), "guildhall_source_version" => "2"}))
    assert_equal "orders/3@4711", letter.source
    error = assert_raises(Newer) { Kafka::Broker::Replay.allocate.send(:target, letter) }
    assert_match(%r{\Aorders.dead/0@0: what its headers say has version 2 of its format}, error.message)
  end

  def test_headers_of_delayed_messages
    headers = Kafka::Delaying::DelayHeaders
    message = record(headers: {"h" => "x", **json("delay_headers.json")})
    assert_equal [1_790_000_000.25, {topic: "orders", partition: 3}, {"h" => "x"}], [headers.due(message), headers.target(message), headers.without(message)]
    assert_equal json("delay_headers.json"), headers.for(1_790_000_000.25, "orders", 3)
  end

  # It goes to the dead letters of the delay topics, and what comes behind it goes on.
  def test_a_delayed_message_of_a_later_release_is_refused
    message = record(headers: {**json("delay_headers.json"), "delay_until" => "1", "delay_version" => "2"})
    assert_instance_of Newer, Kafka::Delaying::Forwarder.allocate.send(:forwarded, message, Time.now.to_f)
  end

  def test_the_schedule
    state = Kafka::Scheduling::State.new
    lines = stored("schedule.jsonl").lines(chomp: true).map { |line| line.split("\t") }
    lines.each_with_index { |(key, payload), offset| state.read(record(key:, payload:, offset:)) }
    assert_equal [:done, 1_790_000_000, "web-1:7:a"], state.run("nightly").then { |run| [run.state, run.due, run.by] }
    assert_equal [:asked, false], [state.run("nightly", :asked).state, state.enabled?("nightly")]
    assert_equal lines.first, Kafka::Scheduling::State.run_record("nightly", state.run("nightly"))
  end

  # Else a task would run again that has run.
  def test_a_schedule_of_a_later_release_is_refused
    error = assert_raises(Newer) { Kafka::Scheduling::State.new.read(record(key: "run:nightly", payload: '{"v":2,"what":1}')) }
    assert_match(/\Athe record of task nightly in the schedule's topic has version 2/, error.message)
  end

  def test_reports
    report = Guildhall::Web::Reports::Record.read(record(payload: stored("report")))
    assert_equal ["event", "stalled", "orders", 3], report.values_at("kind", "name", "topic", "partition")
  end

  # The page Status counts them.
  def test_reports_of_a_later_release_are_left_out
    later = Kafka::Reporting::Record.encode({"v" => 2, "kind" => "event"})
    error = assert_raises(Guildhall::Web::Reports::Record::Skipped) { Guildhall::Web::Reports::Record.read(record(payload: later)) }
    assert_equal "of another version of the format", error.message
  end

  def test_commands
    command = Kafka::Commanding::Command.decode(stored("command.json"))
    assert_equal [:pause, {seconds: 60}, "pause of orders/3 (group shop)"], [command.action, command.args, command.to_s]
    assert_equal stored("command.json"), command.encode.b
    error = assert_raises(Guildhall::ArgumentError) { Kafka::Commanding::Command.decode(stored("command.json").sub('"v":1', '"v":2')) }
    assert_equal "it has version 2, and this release knows 1: update what is older", error.message
  end

  def test_a_replay_of_the_dashboard
    job = Guildhall::Web::LetterJob.load(stored("letter_job.json"))
    assert_equal ["replay", "KeyError", {0 => 9}, 3], [job.action, job.filter.cause, job.upto, job.total]
    assert_equal stored("letter_job.json"), job.dump.b
    assert_nil Guildhall::Web::LetterJob.load(stored("letter_job.json").sub('"v":1', '"v":2'))
  end
end
