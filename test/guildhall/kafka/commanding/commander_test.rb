# frozen_string_literal: true

require "test_helper"
require "support/plain_record"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/kafka/commanding/commander"
require "guildhall/kafka/reporting/record"

class KafkaCommanderTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding

  def record(data) = Struct.new(:raw_payload).new(data.is_a?(Hash) ? Guildhall::Kafka::Reporting::Record.encode(data) : data)

  def test_outcomes_among_reports
    outcome = {"kind" => "event", "name" => "outcome", "command" => "7", "process" => "a:1:b", "outcome" => "refused", "reason" => "no"}
    assert_equal ["7", "a:1:b", :refused, "no"], Commanding::Commander.outcome(record(outcome)).to_h.values
    hostile = Commanding::Commander.outcome(record({**outcome, "process" => "a\e[2J", "reason" => "no\r\n#{"x" * 100_000}"}))
    assert_equal ["a\\u{1B}[2J", "no\\u{D}\\u{A}x", 1_001], [hostile.process, hostile.reason[0, 13], hostile.reason.size], "a terminal shows it"
    [{**outcome, "process" => 1}, {**outcome, "kind" => "state"}, {**outcome, "name" => "started"}, {**outcome, "outcome" => "x"}, {}, nil, "", "x", Zlib.deflate("[]"), Zlib.deflate("{")].each do |other|
      assert_nil Commanding::Commander.outcome(record(other)), other.inspect
    end
  end

  def test_what_was_sent_can_be_listed
    private_key, = Commanding::Keys.generate
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      settings = {"bootstrap.servers": broker.bootstrap_servers}
      commander = Commanding::Commander.new(settings, private_key:)
      assert_empty commander.sent
      answer = commander.issue(:pause, {group: "g"}, by: "ada", why: "bad", args: {seconds: 60}, id: "1", wait: nil)
      assert_equal [false, []], [answer.done?, answer.outcomes]
      Commanding::Commander.new(settings, private_key: nil).issue(:retry, {group: "g"}, by: "bob", why: "x", id: "2", wait: nil)
      producer = Guildhall::Kafka::Producer.new(settings)
      payloads = ["{", answer.command.encode, answer.command.with(why: "forged").encode]
      producer.produce_many_sync(payloads.map { |payload| {topic: Commanding::TOPIC, payload:} })
      producer.close
      assert_equal [%w[1 bad], %w[1 forged], %w[2 x]], Commanding::Commander.new(settings, private_key: nil).sent.map { |one| [one.command.id, one.command.why] }.sort
      assert_equal [["bad", false], ["bad", true], ["forged", false]], commander.sent.select { |one| one.command.id == "1" }.map { |one| [one.command.why, one.signed] }.sort_by(&:to_s)
      assert_equal [["2", false]], commander.sent.map { |one| [one.command.id, one.signed] }.reject(&:last).reject { |id, _| id == "1" }
      assert_equal 1, commander.sent(1).size
      refute_includes commander.inspect, private_key
    end
  end

  # Of a topic that somebody else has made, with senders' times.
  def test_a_command_without_a_time_of_the_broker
    command = Commanding::Command.make(action: :retry, target: {group: "g"}, by: "ada", why: "x", id: "1", at: 1.5)
    sent = PlainRecord.new(topic: "guildhall.commands", partition: 0, offset: 0, timestamp_ms: nil, key: nil, raw_payload: command.encode, headers: {})
    commander = Commanding::Commander.new({"bootstrap.servers": "127.0.0.1:1"}, private_key: nil)
    assert_equal Time.at(1.5), commander.send(:sent_by, sent).at
  end

  def test_what_is_wrong_is_said_before_anything_is_sent
    commander = Commanding::Commander.new({"bootstrap.servers": "127.0.0.1:1"}, private_key: Commanding::Keys.generate.first)
    assert_raises(Guildhall::ArgumentError) { commander.issue(:stop, {process: "p"}, by: "", why: "x") }
    assert_raises(Guildhall::ArgumentError) { Commanding::Commander.new({}, private_key: "x") }
  end
end
