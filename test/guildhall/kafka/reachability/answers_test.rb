# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaAnswersTest < GuildhallTest
  Answers = Guildhall::Kafka::Reachability::Answers

  # Notes what it is told.
  class Reachability
    attr_reader :told

    def initialize = @told = []
    def silent(broker, seconds) = @told << [:silent, broker, seconds]
    def answered(broker) = @told << [:answered, broker]
  end

  # The time is what the test says.
  class Clock
    attr_accessor :now

    def initialize = @now = 100.0
  end

  def setup
    @clock = Clock.new
    @reachability = Reachability.new
    @answers = Answers.new({"fetch.wait.max.ms": 50}, @reachability, clock: @clock)
    @clock.now += 1
  end

  def test_what_they_say_of_a_partition
    assert_nil @answers.of("t", 0)
    @answers.read('{"brokers":{},"topics":{"t":{"partitions":{"0":{"partition":0,"consumer_lag":7}}}}}')
    assert_equal({"partition" => 0, "consumer_lag" => 7}, @answers.of("t", 0))
    assert_nil @answers.of("t", 1)
  end

  def test_a_client_is_asked_for_statistics_often_enough
    assert_equal({"statistics.interval.ms": 2_000}, Answers.settings({}))
    assert_equal({"statistics.interval.ms": 2_000}, Answers.settings({"statistics.interval.ms": "60000"}))
    assert_equal({"statistics.interval.ms": 1_667}, Answers.settings({"statistics.interval.ms": 5_000}))
    assert_equal({"statistics.interval.ms": 500}, Answers.settings({"statistics.interval.ms": 500}))
    due = [{}, {"statistics.interval.ms": 0}, {"statistics.interval.ms": "500"}].map { Answers.new(it, nil).statistics_due? }
    assert_equal [false, false, true], due
  end

  # What a listener needs for statistics.
  Application = Struct.new(:config, :settings, :events) do
    def backpressure = nil
    def reachability = Reachability.new
    def client_settings(*) = settings
    def listening?(_name) = true
    def publish(name, statistics:, **) = events << [name, statistics["ts"]]
    def error(error, *, **) = raise(error)
  end

  def test_statistics_are_published_as_often_as_the_user_wants
    config = Guildhall::Kafka::Config.new
    topic = Struct.new(:group).new("g")
    {0 => [], 500 => [*1..6], 2_000 => [*1..6], 5_000 => [3, 6], 4_001 => [3, 6], 4_000 => [2, 4, 6]}.each do |interval_ms, expected|
      application = Application.new(config, {"statistics.interval.ms": interval_ms}, [])
      listener = Guildhall::Kafka::Group::Listener.new([topic], application, routes: nil)
      (1..6).each { |number| listener.statistics_emitted(Guildhall::JSON.encode({"ts" => number, "brokers" => {}})) }
      assert_equal expected.map { |number| ["statistics.emitted", number] }, application.events, interval_ms.to_s
    end
  end

  def test_of_a_broker_that_is_there_twice_the_new_one_counts
    (1..3).each do |number|
      brokers = [["DOWN", 9], ["UP", number]].map { |state, received| %("a:1/1":{"state":"#{state}","nodename":"a:1","nodeid":1,"rx":#{received},"rxidle":0,"waitresp_cnt":0}) }
      @answers.read(%({"ts":#{number},"brokers":{#{brokers.join(",")}}}))
    end
    assert_equal [[:answered, "a:1"]] * 2, @reachability.told
  end

  def test_a_broker_that_answers
    3.times { |index| read(broker(received: 10 + index, waits: 1, idle: 0.03)) }
    assert_predicate @answers, :any?
    assert @answers.from?("orders", 0)
    assert_in_delta 0.03, @answers.seconds
    assert_equal [[:answered, "b:1"]] * 2, @reachability.told
  end

  def test_a_broker_that_leaves_requests_without_an_answer
    read(broker(received: 10, waits: 1, idle: 0.1))
    read(broker(received: 10, waits: 1, idle: 2.1), after: 2)
    assert_predicate @answers, :any?
    read(broker(received: 10, waits: 1, idle: 6.1), after: 4)
    refute_predicate @answers, :any?
    refute @answers.from?("orders", 0)
    assert_in_delta 6.1, @answers.seconds
    assert_equal(:silent, @reachability.told.last.first)
    assert_in_delta 6.1, @reachability.told.last.last, 0.2
    read(broker(received: 11, waits: 1, idle: 0), after: 2)
    assert_predicate @answers, :any?
    assert_equal [:answered, "b:1"], @reachability.told.last
  end

  def test_a_broker_of_which_nothing_is_asked_is_not_silent
    read(broker(received: 10, waits: 0, idle: 1))
    read(broker(received: 10, waits: 0, idle: 100), after: 99)
    assert_predicate @answers, :any?
    assert @answers.from?("orders", 0)
    assert_in_delta 100, @answers.seconds
    assert_empty @reachability.told
    # What has just been asked has not been asked for as long as nothing was.
    read(broker(received: 10, waits: 1, idle: 102, sent: 0.01), after: 2)
    assert_predicate @answers, :any?
    assert_empty @reachability.told
  end

  def test_the_time_that_a_fetch_may_wait_at_the_broker_is_no_silence
    @answers = Answers.new({"fetch.wait.max.ms": "30000"}, @reachability, clock: @clock)
    read(broker(received: 10, waits: 1, idle: 0))
    read(broker(received: 10, waits: 1, idle: 34), after: 34)
    assert_predicate @answers, :any?
    read(broker(received: 10, waits: 1, idle: 36), after: 2)
    refute_predicate @answers, :any?
  end

  def test_a_connection_that_is_not_made
    read(broker(received: 10, waits: 0, idle: 0))
    read(broker(state: "APIVERSION_QUERY", received: 10, waits: 1, state_age: 1), after: 2)
    assert_predicate @answers, :any?
    read(broker(state: "APIVERSION_QUERY", received: 10, waits: 1, state_age: 6), after: 5)
    refute_predicate @answers, :any?
    assert_equal(:silent, @reachability.told.last.first)
  end

  def test_no_connection_at_all
    read(broker(received: 10, waits: 0, idle: 0))
    read(broker(state: "TRY_CONNECT", received: 10, waits: 0), after: 2)
    assert_predicate @answers, :any?
    read(broker(state: "INIT", received: 10, waits: 0), after: 4)
    refute_predicate @answers, :any?
    refute @answers.from?("orders", 0)
    assert_empty @reachability.told # the log says why
  end

  def test_before_the_first_statistics
    assert_predicate @answers, :any?
    assert @answers.from?("orders", 0)
    @clock.now += 6
    refute_predicate @answers, :any?
    refute @answers.from?("orders", 0)
  end

  def test_a_partition_whose_broker_is_silent_while_others_answer
    good = {"b:1/1" => broker(received: 10, waits: 1, idle: 0)}
    read_all(**good, "b:2/2" => broker(node: 2, received: 5, waits: 1, idle: 0))
    read_all("b:1/1" => broker(received: 20, waits: 1, idle: 0), "b:2/2" => broker(node: 2, received: 5, waits: 1, idle: 8), after: 8)
    assert_predicate @answers, :any?
    assert @answers.from?("orders", 0)
    refute @answers.from?("orders", 1)
    assert_equal ["b:2"], @reachability.told.select { |kind, *| kind == :silent }.map { |_, address| address }
  end

  def test_a_coordinator_that_waits_for_other_members_is_not_silent
    coordinator = ->(idle) { {"GroupCoordinator" => broker(source: "logical", received: 3, waits: 1, idle:)} }
    read_all(**coordinator.call(0), join: "wait-join")
    read_all(**coordinator.call(60), join: "wait-join", after: 60)
    assert_empty @reachability.told
    read_all(**coordinator.call(62), join: "steady", after: 2)
    read_all(**coordinator.call(70), join: "steady", after: 8)
    assert_equal [:silent], @reachability.told.map(&:first).uniq
  end

  # librdkafka does not send what the brokers do not know, and does not say so.
  def test_a_member_that_never_asks_its_coordinator_to_join
    sent = {"ApiVersion" => 2, "Metadata" => 1}
    looks = lambda do |total, join: "init", state: "up", requests: sent|
      coordinator = broker(source: "logical", received: 3, waits: 0, idle: 0).merge("tx" => total, "req" => requests)
      read_all("GroupCoordinator" => coordinator, join:, state:)
      @answers.never_joins?
    end
    assert_equal [false, true], [looks.call(3), looks.call(3)]
    assert_equal [false, false], [looks.call(4), looks.call(4)], "requests that are not listed were sent"
    assert_equal [false, false], Array.new(2) { looks.call(4, requests: {**sent, "ConsumerGroupHeartbeat" => 1}) }, "listed by another librdkafka"
    assert_equal [false] * 4, [{join: "steady"}, {state: "wait-coord"}].flat_map { |look| Array.new(2) { looks.call(3, **look) } }
    assert_equal [false, true], [looks.call(3), looks.call(3)]
    @answers.restart
    refute looks.call(3), "another client"
  end

  # A client that took the place of another knows nothing, but the broker has not answered for as long.
  def test_another_client
    read(broker(received: 10, waits: 1, idle: 0))
    @clock.now += 20
    @answers.restart
    assert_in_delta 20, @answers.seconds
    refute_predicate @answers, :any?
    read(broker(received: 1, waits: 0, idle: 0))
    assert_predicate @answers, :any?
  end

  private

  def broker(received:, waits:, idle: nil, sent: idle, state: "UP", state_age: 0, node: 1, source: "learned")
    microseconds = ->(seconds) { seconds ? (seconds * 1_000_000).to_i : -1 }
    {"nodename" => "b:#{node}", "nodeid" => (source == "logical" ? -1 : node), "source" => source, "state" => state, "rx" => received,
     "stateage" => microseconds.call(state_age), "waitresp_cnt" => waits, "rxidle" => microseconds.call(idle), "txidle" => microseconds.call(sent)}
  end

  def read(one, after: 0) = read_all("b:1/1" => one, after:)

  def read_all(after: 0, join: "steady", state: nil, **brokers)
    @clock.now += after
    internal = {"source" => "internal", "state" => "INIT", "rx" => 0}
    partitions = {"0" => {"broker" => 1}, "1" => {"broker" => 2}}
    json = Guildhall::JSON.encode("brokers" => {":0/internal" => internal, **brokers}, "cgrp" => {"state" => state, "join_state" => join},
      "topics" => {"orders" => {"partitions" => partitions}})
    @answers.read(json)
  end
end
