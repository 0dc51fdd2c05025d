# frozen_string_literal: true

require "test_helper"
require "guildhall/error_boundary"
require "guildhall/instrumentation"
require "timeout"

class ErrorBoundaryTest < GuildhallTest
  Boundary = Guildhall::ErrorBoundary

  def setup
    @reported = []
    @report = ->(error) { @reported << error.class }
  end

  def test_a_block_that_returns_gives_its_value
    assert_equal [3, 4], [Boundary.run(@report) { 3 }, Boundary.contain(@report) { 4 }]
    assert_empty @reported
  end

  def test_whatever_is_raised_is_reported_once_and_goes_no_further
    kinds = [RuntimeError, NotImplementedError, LoadError, SystemStackError, NoMemoryError, Class.new(ScriptError)]
    kinds.each { |kind| assert_nil(Boundary.run(@report) { raise kind, "no" }) }
    assert_equal kinds, @reported
  end

  def test_what_ends_the_process_passes_in_the_main_thread
    assert_raises(SystemExit) { Boundary.run(@report) { exit } }
    assert_raises(Interrupt) { Boundary.run(@report) { raise Interrupt } }
    assert_empty @reported
  end

  def test_exit_in_another_thread_goes_to_the_main_thread_and_the_thread_goes_on
    thread = nil
    assert_raises(SystemExit) do
      thread = Thread.new { Boundary.run(@report) { exit(3) } || :went_on }
      thread.join(10)
      sleep(10)
    end
    assert_equal :went_on, thread.value
  end

  def test_a_timeout_around_it_is_kept
    assert_raises(Timeout::Error) { Timeout.timeout(0.02) { Boundary.run(@report) { sleep } } }
    assert_empty @reported
  end

  def test_a_report_that_raises_goes_to_standard_error
    _, err = capture_io { Boundary.run(->(_) { raise NotImplementedError, "no report" }) { raise "no" } }
    assert_match(/RuntimeError: no; it could not be reported: NotImplementedError: no report/, err)
  end

  def test_nothing_comes_of_an_error_whose_message_raises
    odd = Class.new(StandardError) { def message = raise("no message") }
    _, err = capture_io { assert_nil(Boundary.run(->(error) { raise error }) { raise odd }) }
    assert_match(/its message raises RuntimeError.*could not be reported/, err)
    instrumentation = Guildhall::Instrumentation.new(["x"]) { |message| @reported << message }
    instrumentation.subscribe { raise odd }
    instrumentation.publish("x")
    assert_match(/its message raises RuntimeError/, @reported.first)
  end

  def test_a_message_is_in_utf8_whatever_it_was_in
    texts = ["é".encode("UTF-16BE"), "é".encode("ISO-8859-1"), "é".b, "é"]
    assert_equal ["é"], texts.map { |text| Boundary.message(RuntimeError.new(text)) }.uniq
    assert_equal "x", Boundary.message(RuntimeError.new("x".dup.force_encoding("UTF-7"))), "Ruby has no converter for it"
  end

  def test_nothing_comes_of_a_closed_standard_error
    closed = IO.pipe.each(&:close).last
    previous = $stderr
    $stderr = closed
    assert_nil(Boundary.run(->(_error) { raise "no log" }) { raise "no" })
  ensure
    $stderr = previous
  end

  def test_contain_reports_exit_and_the_end_of_the_thread
    Boundary.contain(@report) { exit }
    Thread.new { Boundary.contain(@report) { Thread.exit } }.join
    assert_equal [SystemExit, Guildhall::TaskError], @reported
  end
end
