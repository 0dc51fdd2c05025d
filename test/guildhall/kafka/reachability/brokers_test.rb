# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaReachabilityTest < GuildhallTest
  REFUSED = "Connect to ipv4#127.0.0.1:1 failed: Connection refused"
  AUTHENTICATION = "SASL authentication error: Authentication failed: Invalid username or password"

  # The time is what the test says.
  class Clock
    attr_accessor :now

    def initialize = @now = 100.0
  end

  def setup
    @clock = Clock.new
    @events = Thread::Queue.new
    @diagnosis = ->(broker) { "see #{broker}" }
    @reachability = Guildhall::Kafka::Reachability::Brokers.new(->(broker) { @diagnosis.call(broker) }, clock: @clock) do |name, **payload|
      @events << [name, payload]
    end
  end

  def test_the_first_time_and_reminders_with_growing_pauses
    told = []
    2_000.times do
      @reachability.failed("b:1", REFUSED)
      told << @clock.now - 100 unless @events.empty?
      @events.clear
      @clock.now += 1
    end
    assert_equal [0, 10, 30, 70, 150, 310, 630, 1_230, 1_830], told.map(&:to_i)
  end

  # As librdkafka does it with errors that are the same.
  def test_reminders_grow_as_well_where_failures_are_rare
    told = []
    30.times do
      @reachability.failed("b:1", AUTHENTICATION)
      told << @clock.now - 100 unless @events.empty?
      @events.clear
      @clock.now += 30
    end
    assert_equal [0, 30, 60, 120, 210, 390, 720], told.map(&:to_i)
  end

  def test_the_first_that_is_told_is_no_reminder_while_another_reason_is_diagnosed
    asked = Thread::Queue.new
    @diagnosis = ->(_broker) { asked.pop }
    @reachability.failed("b:1", "Disconnected: connection reset by peer")
    @reachability.failed("b:1", REFUSED)
    asked << "see"
    told = Array.new(2) { @events.pop(timeout: 60).last }
    assert_equal [[REFUSED, false], ["Disconnected: connection reset by peer", true]], told.map { |event| event.values_at(:reason, :reminder) }
  end

  def test_an_outage_that_ends_before_it_is_diagnosed_is_not_reported
    asked = Thread::Queue.new
    diagnosing = Thread::Queue.new
    @diagnosis = ->(_broker) { (diagnosing << Thread.current) && asked.pop }
    @reachability.failed("b:1", "Disconnected: connection reset by peer")
    thread = diagnosing.pop(timeout: 60)
    @reachability.answered("b:1")
    asked << "see"
    assert thread.join(60)
    assert_empty events
  end

  # @return [Array<String>] the brokers that it remembers
  def unreachable = @reachability.instance_variable_get(:@outages).keys

  def test_what_an_event_says
    @reachability.failed("b:1", REFUSED)
    @clock.now += 12
    @reachability.failed("b:1", REFUSED)
    advice = "check that a broker listens at bootstrap.servers, and the network between"
    assert_equal [["broker.unreachable", {broker: "b:1", reason: REFUSED, advice:, seconds: 0.0, reminder: false}],
                  ["broker.unreachable", {broker: "b:1", reason: REFUSED, advice:, seconds: 12.0, reminder: true}]], events
    assert_equal ["b:1"], unreachable
    @reachability.answered("b:1")
    @reachability.answered("b:1")
    assert_equal [["broker.reachable", {broker: "b:1", seconds: 12.0}]], events
    assert_empty unreachable
  end

  def test_a_broker_that_does_not_answer
    @reachability.silent("b:1", 6.0)
    @clock.now += 2
    @reachability.silent("b:1", 8.0)
    @reachability.answered("b:1")
    unreachable, reachable = events
    assert_equal "broker.unreachable", unreachable.first
    assert_equal [6.0, false], unreachable.last.values_at(:seconds, :reminder)
    assert_match(/the broker's process is suspended/, unreachable.last[:advice])
    assert_equal ["broker.reachable", {broker: "b:1", seconds: 8.0}], reachable
  end

  def test_another_reason_of_the_same_outage_is_a_reminder
    @reachability.silent("b:1", 6.0)
    @reachability.failed("b:1", REFUSED)
    assert_equal([false, true], events.map { |_, payload| payload[:reminder] })
  end

  # Another client may do well with the same broker.
  def test_a_client_that_is_refused_is_not_well_because_another_one_gets_answers
    @reachability.failed("b:1", AUTHENTICATION)
    @reachability.answered("b:1")
    assert_equal(["broker.unreachable"], events.map(&:first))
    @clock.now += 46
    @reachability.answered("b:1")
    assert_equal(["broker.reachable"], events.map(&:first))
  end

  def test_a_client_that_is_gone_is_forgotten
    @reachability.failed("b:1", REFUSED)
    @clock.now += 1_000
    @reachability.failed("b:1", REFUSED)
    assert_equal([false, false], events.map { |_, payload| payload[:reminder] })
  end

  def test_a_handshake_says_more_where_one_text_has_several_reasons
    @reachability.failed("b:1", "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: …")
    assert_equal "see b:1", @events.pop(timeout: 60).last[:advice]
    @diagnosis = ->(_) {}
    @reachability.failed("c:1", "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: …")
    assert_equal Guildhall::Kafka::Broker::Errors.advice(:ssl), @events.pop(timeout: 60).last[:advice]
  end

  # One list of what to do.
  def test_what_has_a_code_has_its_advice
    {REFUSED => :transport, AUTHENTICATION => :sasl_authentication_failed, "Failed to resolve 'b:1': Name or service not known" => :resolve,
     "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism" => :unsupported_sasl_mechanism,
     "Connection setup timed out in state CONNECT" => :timed_out, "SSL handshake failed: alert internal error" => :ssl}.each do |reason, code|
      @diagnosis = ->(_) {}
      @reachability.failed("b:1", reason)
      assert_equal Guildhall::Kafka::Broker::Errors.advice(code), @events.pop(timeout: 60).last[:advice], reason
    end
  end

  # A broker that was suspended takes connections first; librdkafka guesses that it is fifteen years old.
  def test_a_broker_that_has_not_answered_yet_is_no_old_one
    @diagnosis = ->(_) {}
    @reachability.failed("b:1", "ApiVersionRequest failed: Local: Timed out: probably due to broker version < 0.10 (see api.version.request configuration)")
    event = @events.pop(timeout: 60).last
    assert_equal ["it has taken the connection, and does not answer the first request", true], [event[:reason], event[:advice].start_with?("check whether the broker's process is suspended")]
    @reachability.failed("c:1", "Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration (connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request)")
    event = @events.pop(timeout: 60).last
    assert_equal "Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration (connecting to a SSL listener?)", event[:reason]
    assert_match(/security\.protocol/, event[:advice])
    @reachability.failed("d:1", "Disconnected: requesting ApiVersion: might be caused by broker version < 0.10 (see api.version.request)")
    assert_equal "Disconnected: requesting ApiVersion", @events.pop(timeout: 60).last[:reason]
  end

  def test_a_broker_that_ends_does_not_expect_sasl
    closed = "Disconnected: connection closed by peer: receive 0 after POLLIN, just after connecting"
    2.times { @reachability.failed("b:1", closed) } # two clients at once
    @clock.now += 1
    @reachability.failed("b:1", REFUSED)
    assert_equal([REFUSED], events.map { |_, payload| payload[:reason] })
    @reachability.failed("b:1", closed) # it is back, and ends again
    assert_empty events
    @clock.now += 0.1
    @reachability.failed("b:1", closed) # and with each new connection
    assert_match(/expect SASL/, events.first.last[:advice])
  end

  def test_no_more_is_remembered_than_there_is_room_for
    10_000.times { |index| @reachability.failed("b#{index}:1", REFUSED) }
    assert_operator unreachable.size, :<=, 500
    1_000.times { |index| @reachability.failed("b:1", "#{REFUSED} #{index}") }
    assert_operator unreachable.size, :<=, 500
  end

  private

  def events = Array.new(@events.size) { @events.pop }
end
