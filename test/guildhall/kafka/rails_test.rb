# frozen_string_literal: true

require "test_helper"

# What ties consumers to Rails, without a Rails; in processes of their own, as Active Support changes Ruby's classes.
class KafkaRailsTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "active_support/all"
    require "guildhall/kafka"
    require "guildhall/kafka/rails/execution"
    require "guildhall/kafka/active_job"
    require "stringio"
    module Rails
      LINES = StringIO.new
      def self.error = @error ||= ActiveSupport::ErrorReporter.new(logger: nil)
      def self.logger = @logger ||= ActiveSupport::TaggedLogging.new(Logger.new(LINES, formatter: ->(*, message) { "#{message}\n" }))
    end
    REPORTS = []
    Rails.error.subscribe(Object.new.tap { |one| one.define_singleton_method(:report) { |error, **rest| REPORTS << [error, rest] } })
    def report(error) = Guildhall::Kafka::Rails::ErrorReports.report({error:, type: "librdkafka", group: "shop"})
    def equal(expected, actual) = expected == actual || abort("line #{caller_locations(1, 1).first.lineno}: expected #{expected.inspect}, got #{actual.inspect}")
  RUBY

  # Else the log would name the place where it was reported as the one where it happened.
  def test_an_error_that_was_never_raised_gets_no_place
    assert_rails(<<~'RUBY')
      error = Guildhall::Kafka::TransactionError.new("unknown topic")
      report(error)
      equal(nil, error.backtrace)
      reported, rest = REPORTS.fetch(0)
      equal([Guildhall::Kafka::TransactionError, "unknown topic"], [reported.class, reported.message])
      equal(["guildhall.kafka", {type: "librdkafka", group: "shop"}, false], rest.values_at(:source, :context, :handled))
    RUBY
  end

  # Of a payload: a number that no column takes, the id of a record that is missing.
  def test_values_in_messages_of_active_record_are_left_out
    assert_rails(<<~'RUBY')
      require "active_record"
      message = ->(error) { Guildhall::Redaction.message(error) }
      error = begin
        ActiveModel::Type::Integer.new(limit: 4).serialize(4_711_000_000_000)
      rescue ActiveModel::RangeError => raised
        raised
      end
      equal(true, error.message.include?("4711000000000"))
      equal("is out of range", message.(error))
      equal("Couldn't find Shop::Order", message.(ActiveRecord::RecordNotFound.new("Couldn't find Shop::Order with 'email'=ada@example.com")))
      equal("no such order", message.(ActiveRecord::RecordNotFound.new("no such order")))
    RUBY
  end

  def test_the_same_error_is_reported_once
    assert_rails(<<~'RUBY')
      error = begin
        raise IOError, "gone"
      rescue IOError => raised
        raised
      end
      2.times { report(error) }
      equal([error], REPORTS.map(&:first))
    RUBY
  end

  # In development each new topic would be an error of the application's otherwise.
  def test_a_topic_that_the_broker_makes_is_no_error
    assert_rails(<<~'RUBY')
      missing = Guildhall::Kafka::KafkaError.new(3, "UNKNOWN_TOPIC_OR_PART", "orders")
      down = Guildhall::Kafka::KafkaError.new(-187, "_ALL_BROKERS_DOWN", nil)
      {{} => [false, false], {"allow.auto.create.topics": true} => [true, false], {"allow.auto.create.topics" => "true"} => [true, false]}.each do |kafka, expected|
        Guildhall::Kafka.config.kafka = kafka
        equal(expected, [missing, down].map { |error| Guildhall::Kafka::Rails::ErrorReports.topic_to_come?(error, Guildhall::Kafka.config) })
      end
    RUBY
  end

  # Trackers ask the error for its message and its causes, and the executor reports whatever passes it.
  def test_what_may_quote_a_payload_is_reported_without_it
    assert_rails(<<~'RUBY')
      payload = {"email" => "ada@example.com"}.freeze
      Call = Struct.new(:topic, :name, :partition, :event, :attempt, :messages) { def failure(_error) = {type: "consumer.consume", topic: name}; def record(_offset) = nil }
      call = Call.new(Struct.new(:group).new("shop"), "orders", 0, :consume)
      failing = -> { Guildhall::Kafka::Rails::ErrorReports.during(call) { payload["a"] = 1 } }
      begin
        failing.call
      rescue FrozenError => original
        equal(true, original.message.include?("ada@")) # the consumer's error is as it was
      end
      Rails.error.report(original, handled: false) # the executor
      report(original)
      equal(1, REPORTS.size)
      reported, = REPORTS.first
      equal([FrozenError, "can't modify frozen Hash; payloads are frozen: use payload.to_h.dup", original.backtrace],
        [reported.class, reported.message, reported.backtrace])
      begin
        begin
          payload.fetch("ada@example.org")
        rescue KeyError => error
          raise "failed: #{error.message}"
        end
      rescue RuntimeError => error
        report(error)
      end
      outer = REPORTS.last.first
      texts = [outer, outer.cause].flat_map { |one| [one.message, one.detailed_message, one.full_message(highlight: false, order: :top).lines.first] }
      equal([], texts.grep(/ada/))
      equal(["failed: key not found", KeyError], [outer.message, outer.cause.class])
      Guildhall::Kafka.config.error_reports = {messages: true}
      begin
        payload["b"] = 1
      rescue FrozenError => shown
        report(shown)
      end
      equal(true, REPORTS.last.first.equal?(shown))
    RUBY
  end

  def test_the_error_goes_on_whatever_becomes_of_the_report
    assert_rails(<<~'RUBY')
      Call = Struct.new(:topic, :name, :partition, :event) { def failure(_error) = {type: "consumer.consume", topic: name}; def record(_offset) = nil }
      call = Call.new(Struct.new(:group).new("shop"), "orders", 0, :consume)
      Rails.error.define_singleton_method(:report) { |*, **| raise "the tracker is away" }
      own_cause = Class.new(KeyError) { def cause = self }.new("key not found: \"ada\"")
      [KeyError.new("key not found: \"ada\""), own_cause, RuntimeError.new("boom")].each do |original|
        Guildhall::Kafka::Rails::ErrorReports.during(call) { raise original }
      rescue StandardError => raised
        equal(true, raised.equal?(original))
        equal(original.is_a?(KeyError), raised.instance_variable_defined?(:@__rails_error_reported))
      end
      report(KeyError.new("other"))
    RUBY
  end

  # A job is a call within that of its batch.
  def test_each_line_is_tagged_once
    assert_rails(<<~'RUBY')
      reloader = Object.new.tap { |one| one.define_singleton_method(:wrap) { |&block| block.call } }
      EXECUTION = Guildhall::Kafka::Rails::Execution.new(Struct.new(:reloader).new(reloader))
      Message = Struct.new(:offset)
      Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      Guildhall::Kafka.config.group_id = "shop"
      Guildhall::Kafka.routes { topic("orders") { consumer Class.new(Guildhall::Kafka::Consumer) }; active_job_topic "jobs" }
      def call(topic, event, *messages, &)
        EXECUTION.call(Guildhall::Kafka::Partition::Middleware::Call.new(topic:, name: topic.name, partition: 0, event:, messages:, attempt: 1), &)
      end
      orders, jobs = %w[orders jobs].map { |name| Guildhall::Kafka.routes.topics.find { |topic| topic.name == name } }
      call(orders, :consume, Message.new(3)) { Rails.logger.info("order") }
      call(jobs, :consume, Message.new(7), Message.new(8)) do
        call(jobs, :perform, Message.new(8)) { Rails.logger.info("job") }
      end
      Rails.logger.info("none")
      equal(["[shop] [orders/0@3] order", "[shop] [jobs/0@8] job", "none"], Rails::LINES.string.lines(chomp: true))
    RUBY
  end

  DATABASES = <<~'RUBY'
    require "active_record"
    require "guildhall/kafka/rails/connections"
    module ActiveRecord; class Railtie; end; end
    def Rails.env = "production"
    def databases(**all) = ActiveRecord::Base.configurations = {"production" => all.transform_keys(&:to_s).transform_values { |one| one.transform_keys(&:to_s) }}
    def problems(concurrency, **) = Guildhall::Kafka::Rails::Connections.problems(concurrency, **)
    SETTING = ActiveRecord.version >= Gem::Version.new("8.1") ? "max_connections" : "pool"
  RUBY

  def test_each_database_that_has_fewer_connections_than_there_are_threads_is_named
    assert_rails("#{DATABASES}#{<<~'RUBY'}")
      databases(primary: {adapter: "sqlite3", SETTING.to_sym => 5}, animals: {adapter: "sqlite3"}, big: {adapter: "sqlite3", pool: 8},
        replica: {adapter: "sqlite3", pool: 2, replica: true})
      equal([], problems(2))
      animals = "config.concurrency is 8, but the database animals has 5 connections: threads that get none fail with " \
                "ActiveRecord::ConnectionTimeoutError; write #{SETTING}: 8 for animals in config/database.yml, under production (or set " \
                "config.concurrency to 5)"
      equal([animals.gsub("animals", "primary"), animals, animals.gsub("animals", "replica").gsub(/\b5\b/, "2")], problems(8))
      databases(primary: {adapter: "sqlite3", pool: -1}) if SETTING == "max_connections"
      equal([], problems(8)) if SETTING == "max_connections"
    RUBY
  end

  # Puma's threads take connections of the same pool.
  def test_threads_of_puma_in_this_process_count
    assert_rails("#{DATABASES}#{<<~'RUBY'}")
      module Puma
        def self.cli_config = Struct.new(:options).new({max_threads: 3})
      end
      databases(primary: {adapter: "sqlite3", pool: 5})
      equal([], problems(2))
      line = problems(5).fetch(0)
      abort(line) unless line.include?("concurrency is 5, and Puma has 3 threads in this process, but") && line.include?("#{SETTING}: 8") &&
                         line.include?("(or set config.concurrency to 2)")
    RUBY
  end

  def test_the_relay_of_the_outbox_takes_one_more
    assert_rails("#{DATABASES}#{<<~'RUBY'}")
      databases(primary: {adapter: "sqlite3", pool: 5})
      equal([], problems(4, outbox: true))
      line = problems(5, outbox: true).fetch(0)
      abort(line) unless line.include?("concurrency is 5, and the outbox's relay takes one, but") && line.include?("#{SETTING}: 6") &&
                         line.include?("(or set config.concurrency to 4)")
    RUBY
  end

  def test_without_active_record_there_is_nothing_to_say
    assert_rails(<<~'RUBY')
      require "guildhall/kafka/rails/connections"
      equal([], Guildhall::Kafka::Rails::Connections.problems(100))
    RUBY
  end

  # They come every few seconds, and the log of a Rails application in development has all levels.
  def test_periodic_figures_are_not_written
    assert_rails(<<~'RUBY')
      require "guildhall/kafka/rails/log"
      log = Guildhall::Kafka::Rails::Log.new(Rails.logger)
      names = Guildhall::Kafka::Logging::EventLog.new(log).names
      equal([false, false, true], %w[lag.measured statistics.emitted consumer.consumed].map { |name| names.include?(name) })
      equal(Guildhall::Kafka::Events::NAMES, Guildhall::Kafka::Logging::EventLog.new(Logger.new(nil)).names)
    RUBY
  end

  private

  def assert_rails(code) = assert_forked("#{PRELUDE}#{code}")
end
