# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolLogTest < GuildhallTest
  # In place of the queue whose supervisor is summoned.
  module Queue
    def self.summon = nil
  end

  class Logger
    attr_reader :lines

    def initialize = @lines = []
    Guildhall::Pool::Log::SEVERITIES.each { |severity| define_method(severity) { |text| @lines << [severity, text] } }
  end

  def setup
    @log = Guildhall::Pool::Log.new
    @line = @log.line(Queue)
    @logger = Logger.new
  end

  def test_lines_arrive_with_their_severity_in_order
    @line.info("one")
    @line.error { "two" }
    @line.debug(3)
    @log.drain(@logger)
    assert_equal [[:info, "one"], [:error, "two"], [:debug, "3"]], @logger.lines
  end

  def test_a_line_is_written_once
    @line.warn("x")
    2.times { @log.drain(@logger) }
    assert_equal 1, @logger.lines.size
  end

  def test_what_does_not_fit_is_counted_and_dropped
    (Guildhall::Pool::Log::CAPACITY_LINES + 3).times { |number| @line.info(number) }
    @log.drain(@logger)
    assert_equal Guildhall::Pool::Log::CAPACITY_LINES + 1, @logger.lines.size
    assert_equal [:warn, "guildhall: 3 lines of tasks' logs were dropped"], @logger.lines.last
  end

  # The supervisor, which writes the lines, has to look after workers, too.
  def test_tasks_that_log_faster_than_the_logger_writes_are_left_for_the_next_time
    busy = Logger.new
    busy.define_singleton_method(:info) { |text| @lines.size < 5000 && super(text) && @more.call }
    more = -> { @line.info("again") }
    busy.instance_variable_set(:@more, more)
    3.times { more.call }
    @log.drain(busy)
    assert_equal 3, busy.lines.size
    @log.drain(busy)
    assert_equal 6, busy.lines.size
  end

  def test_a_logger_that_raises_loses_its_line_only
    raises = Logger.new
    def raises.info(_text) = raise(IOError, "disk full")
    @line.info("a")
    @line.warn("b")
    _, err = capture_io { @log.drain(raises) }
    assert_includes err, "guildhall: the logger raised IOError: disk full"
    assert_equal [[:warn, "b"]], raises.lines
  end

  def test_without_a_logger_standard_error_has_them
    @line.fatal("x")
    _, err = capture_io { @log.drain(nil) }
    assert_equal "fatal: x\n", err
    _, err = capture_io { Guildhall.logger.info { "outside of tasks" } }
    assert_equal "info: outside of tasks\n", err
  end

  def test_lines_can_be_written_in_any_ractor
    assert Ractor.shareable?(@line)
  end
end
