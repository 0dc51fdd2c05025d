# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaLagWatchTest < GuildhallTest
  Watch = Guildhall::Kafka::Broker::LagWatch
  Lag = Guildhall::Kafka::Broker::Lag

  # A query whose answers are given.
  class Given
    attr_reader :settings, :asked

    def initialize(*answers, servers: "a:1")
      @settings = {"bootstrap.servers": servers, "group.id": "g", log_level: 0}
      @answers = answers
      @asked = 0
    end

    def answer_from(_session)
      @asked += 1
      answer = @answers.size > 1 ? @answers.shift : @answers.first
      raise answer if answer.is_a?(Exception)

      Guildhall::Kafka::Broker::Answer.new(answer, [])
    end
  end

  def row(topic, committed, end_offset, seconds = 1.0)
    Lag::Row.new(group: "g", topic:, partition: 0, committed:, end_offset:, messages: [end_offset - committed.to_i, 0].max, seconds:)
  end

  def watch(*queries)
    watch = Watch.new(queries)
    yield watch
  ensure
    watch.close
  end

  def test_rates_since_the_look_before
    watch(Given.new([row("a", 10, 30)], [row("a", 20, 35)], [row("a", 20, 35)], [row("a", 5, 35)])) do |watch|
      first = watch.look.first
      assert_equal [nil, nil, nil], [first.rate_in, first.rate_out, first.caught_up_in]
      sleep(0.1)
      second = watch.look.first
      assert_in_delta 2.0, second.rate_out / second.rate_in, 0.001
      assert_operator second.rate_out, :<, 101
      assert_in_delta 15 / (second.rate_out - second.rate_in), second.caught_up_in, 0.001
      assert_equal Float::INFINITY, watch.look.first.caught_up_in
      assert_nil watch.look.first.rate_out, "somebody has set it back"
    end
  end

  def test_first_what_needs_attention
    rows = [row("done", 9, 9, 0.0), row("young", 0, 900, 2.0), row("old", 0, 3, 70.0), row("beyond", 12, 9, 0.0), row("unknown", 0, 3, nil)]
    watch(Given.new(rows)) { |watch| assert_equal %w[beyond unknown old young done], watch.look.map(&:topic) }
  end

  def test_brokers_that_do_not_answer_are_asked_once_in_a_look
    error = Guildhall::Kafka::UnreachableError.at({"bootstrap.servers": "a:1"}, -195, "x")
    silent = Given.new(error)
    other = Given.new([row("b", 1, 2)])
    elsewhere = Given.new([row("c", 1, 2)], servers: "b:1")
    watch(silent, other, elsewhere) do |watch|
      answer = watch.look
      assert_equal [["c"], 1, 0], [answer.map(&:topic), answer.problems.size, other.asked]
    end
    watch(silent, other) { |watch| assert_raises(Guildhall::Kafka::UnreachableError) { watch.look } }
  end

  def test_it_goes_on_after_an_outage
    error = Guildhall::Kafka::UnreachableError.at({"bootstrap.servers": "a:1"}, -195, "x")
    watch(Given.new([row("a", 10, 30)], error, [row("a", 20, 40)])) do |watch|
      watch.look
      assert_raises(Guildhall::Kafka::UnreachableError) { watch.look }
      sleep(0.01)
      assert_operator watch.look.first.rate_in, :>, 0, "since the last look that was answered"
    end
  end

  def test_groups_of_any_application_by_what_they_have_committed
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[orders prices].each { |name| broker.create_topic(name, partitions: 2) }
      settings = {"bootstrap.servers": broker.bootstrap_servers}
      Guildhall::Kafka::Admin.open(settings) { |admin| admin.offsets.plan("shop", to: 0, topics: ["prices"], create: true).apply }
      watch(Lag.new({**settings, "group.id": "shop"}), Lag.new({**settings, "group.id": "nothing"})) do |watch|
        2.times { assert_equal [["shop", "prices", 0], ["shop", "prices", 1]], watch.look.map { |row| [row.group, row.topic, row.partition] } }
      end
    end
  end
end
