# frozen_string_literal: true

require "test_helper"
require "guildhall/instrumentation"

class InstrumentationTest < GuildhallTest
  def setup
    @reports = []
    @instrumentation = Guildhall::Instrumentation.new(%w[one two]) { |message| @reports << message }
  end

  def test_a_subscriber_that_raises_any_error_harms_neither_the_others_nor_the_publisher
    seen = []
    @instrumentation.subscribe("one") { raise NotImplementedError, "abstract metric" }
    @instrumentation.subscribe("one") { raise LoadError, "no such gem" }
    @instrumentation.subscribe { |event| seen << event.name }
    assert_nil @instrumentation.publish("one")
    assert_equal ["one"], seen
    assert_match(/\Aa subscriber of one raised NotImplementedError: abstract metric \(.*instrumentation_test/, @reports.first)
    assert_equal 2, @reports.size
  end

  def test_the_same_error_of_a_subscriber_is_reported_less_and_less_often
    subscriber = @instrumentation.subscribe("one") { raise "no" }
    100.times { @instrumentation.publish("one") }
    assert_equal [nil, "(10 times so far)", "(100 times so far)"], @reports.map { |report| report[/\(\d+ times so far\)/] }
    @instrumentation.unsubscribe(subscriber)
    @instrumentation.publish("one")
    assert_equal 3, @reports.size
  end

  def test_listening_to_one_event_or_any
    assert_equal [false, false], [@instrumentation.listening?, @instrumentation.listening?("one")]
    token = @instrumentation.subscribe("one") { nil }
    assert_equal [true, true, false], [nil, "one", "two"].map { |name| @instrumentation.listening?(name) }
    @instrumentation.unsubscribe(token)
    @instrumentation.subscribe { nil }
    assert @instrumentation.listening?("two")
  end

  def test_without_a_report_it_goes_to_standard_error
    instrumentation = Guildhall::Instrumentation.new(%w[one])
    instrumentation.subscribe { raise NotImplementedError, "no" }
    _, err = capture_io { instrumentation.publish("one") }
    assert_match(/\Aguildhall: a subscriber of one raised NotImplementedError: no/, err)
  end
end
