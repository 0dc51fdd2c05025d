# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaGroupBuilderTest < GuildhallTest
  # @return [Array(Array<String>, Array<Routing::Topic>)] errors and routes
  def draw(&)
    errors = Guildhall::Kafka::Config::Problems.new
    routes = Guildhall::Kafka::Routing::Routes.new(Guildhall::Kafka::Config.new.tap { |config| config.group_id = "shop" })
    routes.draw(&)
    [errors, routes.topics(errors)].then { |found, topics| [found.to_a, topics] }
  end

  def test_a_schedule_is_a_route_with_its_tasks
    errors, topics = draw do
      schedule { task(:report, "every hour") { nil } }
      consumer_group("other") { schedule(topic: "other.tasks") { task("x", "0 3 * * *", missed: :skip) { nil } } }
    end
    assert_empty errors
    assert_equal [["shop.schedule", "shop", ["report"]], ["other.tasks", "other", ["x"]]],
      topics.map { |topic| [topic.name, topic.group, topic.scheduled_tasks.map(&:name)] }
  end

  def test_segments_are_groups_of_which_each_takes_some_messages
    handles = Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
    errors, topics = draw do
      consumer_group("orders", segments: 3, segment_by: ->(message) { message.partition }) do
        topic("t") do
          consumer handles
          retry_topics 5
          dead_letter_queue topic: "t.dead"
        end
      end
    end
    assert_empty errors
    assert_equal [%w[orders.0 t], %w[orders.0 t.orders.0.retry.5], %w[orders.1 t], %w[orders.1 t.orders.1.retry.5], %w[orders.2 t], %w[orders.2 t.orders.2.retry.5]],
      topics.map { |topic| [topic.group, topic.name] }
    assert_equal [0, 1, 2], topics.reject(&:retry_topic?).map { |topic| topic.filters.first.arguments[:number] }
  end

  def test_segments_that_are_none
    errors, = draw do
      consumer_group("a", segments: 1) { topic("t") }
      consumer_group("b", segments: 2, segment_by: 3) { topic("t") }
      consumer_group("c", segment: 2) { topic("u") }
    end
    ["consumer_group \"a\": segments must be", "consumer_group \"b\": segment_by must be", "consumer_group \"c\""].each do |text|
      assert(errors.any? { |error| error.include?(text) }, "#{text}: #{errors}")
    end
  end

  def test_everything_that_is_wrong_is_reported_together
    errors, = draw do
      schedule do
        task("a", "every fortnight or so") { nil }
        task("b:c", "every hour", missed: :twice)
        task("d", "every hour", mised: :skip) { nil }
        task("d", "every hour") { nil }
        tusk("e")
      end
      consumer_group("empty") { schedule { nil } }
      schedule
    end
    assert_equal [
      'schedule of group shop: task "a": "every fortnight or so" is not a cron expression, or is never due',
      'schedule of group shop: task "b:c": name must be a name of letters, digits, spaces and . _ -, not "b:c"',
      'schedule of group shop: task "b:c": missed must be :run_once or :skip, not :twice',
      'schedule of group shop: task "b:c": block must be a block, not nil',
      'schedule of group shop: task "d": unknown keyword mised; did you mean missed?',
      "schedule of group shop: unknown setting tusk; did you mean task?",
      'schedule of group empty: needs a task: task("name", "0 3 * * *") { … }',
      "routes: schedule needs a block with its tasks",
      'schedule: there are 2 tasks "d"'
    ], errors
  end

  def test_expressions_that_mean_something_else_than_they_say_are_refused
    errors, = draw do
      schedule do
        ["", " ", "1 2 3", "* * *", "every 90 minutes", "*/61 * * * * *", "*/75 * * * * Europe/Berlin", "every 30 hours"].each_with_index { |cron, index| task("t#{index}", cron) { nil } }
        ["*/59 * * * * *", "*/45 * * * * Europe/Berlin", "every 12 hours", "at noon every day", "@daily"].each_with_index { |cron, index| task("good#{index}", cron) { nil } }
      end
    end
    assert_equal (0..7).map { |index| "t#{index}" }, errors.map { |error| error[/task "([^"]*)"/, 1] }
  end

  def test_arguments_that_do_not_fit_are_reported_with_the_rest
    errors, = draw do
      schedule { task("a") }
      consumer_group("b") { schedule(topci: "x") { task("b", "every hour") { nil } } }
    end
    assert_equal ["schedule of group shop: task: wrong number of arguments (given 1, expected 2)", "routes: schedule: unknown keyword topci; did you mean topic?",
                  'schedule of group shop: needs a task: task("name", "0 3 * * *") { … }'].sort, errors.sort
  end

  def test_the_missing_gem_is_named
    out = assert_ruby(<<~RUBY)
      require "guildhall/kafka"
      module Kernel
        alias require_before require
        def require(name) = name == "fugit" ? raise(LoadError.new("cannot load such file -- fugit").tap { |error| error.define_singleton_method(:path) { "fugit" } }) : require_before(name)
      end
      Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
      Guildhall::Kafka.routes { schedule { task("a", "every hour") { nil } } }
      begin
        Guildhall::Kafka.application.validate!
      rescue Guildhall::ConfigurationError => error
        warn error.message unless error.message.include?('schedule needs the gem fugit: add `gem "fugit"` to the Gemfile')
      end
    RUBY
    assert_empty out.to_s
  end
end
