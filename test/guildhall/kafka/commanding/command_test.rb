# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/commanding/command"

class KafkaCommandTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding
  PARTITION = {group: "shop", topic: "orders", partition: 3}.freeze

  def make(action = :retry, **given) = Commanding::Command.make(action:, target: PARTITION, by: "ada", why: "try", id: "1", **given)
  def problem(...) = assert_raises(Guildhall::ArgumentError) { make(...) }.message

  def test_it_is_written_and_read
    command = make(:seek, args: {to: 7}, expect: {position: 9, process: nil}, at: 1.5)
    assert_equal command, Commanding::Command.decode(command.encode)
    assert_equal [{position: 9}, "seek of orders/3 (group shop)", true], [command.expect, command.to_s, command.for_one?]
    assert Ractor.shareable?(command)
    assert_equal ["group shop", "orders (group shop)", "process a:1:b"],
      [{group: "shop"}, {group: "shop", topic: "orders"}, {process: "a:1:b"}].map { |target| Commanding::Command.place(target) }
  end

  def test_what_a_newer_release_adds_is_skipped
    data = JSON.parse(make.encode)
    assert_equal make(at: data["at"]), Commanding::Command.decode(JSON.generate({**data, "new" => 1, "target" => {**data["target"], "more" => 1}}))
    error = assert_raises(Guildhall::ArgumentError) { Commanding::Command.decode(JSON.generate({**data, "v" => 2})) }
    assert_match(/has version 2, and this release knows 1/, error.message)
  end

  def test_what_is_no_command
    ["", "[]", "{", "7", "{}", '{"v":1}', '{"v":1,"target":7,"action":[]}', "\xFF"].each do |bytes|
      assert_raises(Guildhall::ArgumentError, bytes) { Commanding::Command.decode(bytes) }
    end
  end

  def test_a_time_that_no_clock_has
    [10**400, "now", nil, Float::INFINITY].each { |at| assert_match(/at must be a time/, problem(:retry, at:)) }
  end

  def test_each_mistake_is_named
    {/no action paus; did you mean pause/ => [:paus], /quiet is for a process/ => [:quiet], /retry is for partitions/ => [:retry, {target: {process: "p"}}],
     /say why/ => [:retry, {why: " "}], /say who/ => [:retry, {by: nil}], /from 1 to 300 seconds/ => [:retry, {expires: 301}],
     /needs a group/ => [:retry, {target: {topic: "t"}}], /needs a topic/ => [:retry, {target: {group: "g", partition: 1}}],
     /must be a number/ => [:retry, {target: {**PARTITION, partition: "1"}}], /a pause has an end/ => [:pause],
     /from 1 to 86400/ => [:pause, {args: {seconds: 90_000}}], /needs a place/ => [:seek, {args: {to: "soon"}, expect: {position: 1}}],
     /needs the position/ => [:seek, {args: {to: 1}}], /for one partition/ => [:seek, {target: {group: "g"}, args: {to: 1}}],
     /either a process, or a group/ => [:stop, {target: {process: "p", group: "g"}}]}.each do |message, (action, given)|
      assert_match(message, problem(action, **given))
    end
  end

  def test_text_of_others_is_made_safe
    command = make(by: "ada\e[2J", why: "x" * 2_000)
    assert_equal ["ada\\u{1B}[2J", 1_001], [command.by, command.why.size]
  end

  def test_places
    assert_equal [0, :earliest, :latest, Time.utc(2026, 1, 31, 9), nil, nil, nil],
      [0, "earliest", "latest", "2026-01-31T09:00:00Z", -1, "yesterday", nil].map { |to| Commanding::Command.place_of(to) }
  end
end
