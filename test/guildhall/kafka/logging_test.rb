# frozen_string_literal: true

require "logger"
require "stringio"
require "test_helper"
require "guildhall/kafka"

class KafkaLoggingLogTest < GuildhallTest
  Logging = Guildhall::Kafka::Logging

  # @return [String] a line of that Logger, in a process of a swarm
  def labelled(format)
    out = StringIO.new
    log = Logging::Log.new(Guildhall::Kafka::Config.new)
    log.default = format ? Logging.logger(out, format:) : Logger.new(out)
    log.label = "process 2"
    log.default.warn("late")
    out.string
  end

  def test_each_line_says_which_process_has_written_it
    assert_match(/Z WARN  process 2: late\n\z/, labelled("text"))
    assert_equal({"level" => "WARN", "process" => "process 2", "message" => "late"}, Guildhall::JSON.decode(labelled("json")).to_h.except("time"))
  end

  def test_the_users_own_logger_is_left_alone
    assert_match(/WARN -- : late\n\z/, labelled(nil))
  end

  LOGGING = ->(number) { Guildhall.logger.info("worker #{number}") }

  # Of a consumer in a runner's thread, and of a deserializer on a worker.
  def test_code_of_the_application_logs_to_the_same_place
    out = StringIO.new
    application = Guildhall::Kafka::Application.new
    application.config.logger = Logging.logger(out)
    runners = Guildhall::Kafka::Runtime::Runners.new(1, logger: application.log_target)
    runners.push(Struct.new(:run).new.tap { |job| job.define_singleton_method(:run) { Guildhall.logger.warn("consumer") } })
    runners.close(Guildhall::Clock.now + 5)
    application.pool.map([1], LOGGING, parallel: true)
    application.pool.shutdown
    assert_equal ["WARN  consumer", "INFO  worker 1"], out.string.lines.map { |line| line.chomp.split("Z ").last }
  end

  def test_code_of_the_application_is_silent_with_its_log
    application = Guildhall::Kafka::Application.new
    application.config.logger = nil
    _, err = capture_io { application.log_target.error("x") }
    assert_equal "", err
  end

  def test_silence_has_no_label
    config = Guildhall::Kafka::Config.new
    config.logger = nil
    assert_equal "process 2", Logging::Log.new(config).label = "process 2"
  end
end
