# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

# How often the blocks of the routes are evaluated: they are the application's code.
class KafkaRoutesTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  # As the producer, for messages that are due.
  class Producer
    include Guildhall::Kafka::Delaying::DelayedProducing

    def produce_sync(message) = message
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @application.config.logger = nil
    @evaluated = 0
  end

  def teardown
    @application.stop(timeout: 1)
  end

  def draw(&more)
    test = self
    @application.routes.draw do
      test.instance_variable_set(:@evaluated, test.instance_variable_get(:@evaluated) + 1)
      delay_topics(5)
      instance_eval(&more) if more
    end
  end

  def test_a_message_for_later_evaluates_the_blocks_once_at_most
    draw { topic("t") { serializer Guildhall::JSON } }
    @application.validate!
    before = @evaluated
    producer = Producer.new
    producer.delay_topics = @application.routes.method(:delay_topics)
    3.times { producer.produce_later(at: Time.at(0), topic: "t", payload: "x") }
    3.times { @application.producer.middleware.run({topic: "t", payload: {"id" => 1}}) }
    assert_equal before, @evaluated
  end

  def test_the_delay_topics_are_those_of_the_latest_blocks
    draw
    assert_equal "guildhall.delay", @application.routes.delay_topics.prefix
    @application.routes.draw { topic("t") { consumer Handles } }
    assert_equal %w[guildhall.delay.5 t], @application.routes.latest_topics.map(&:name)
    @application.config.group_id = "g"
    @application.validate!
    assert_equal "g.delay", @application.routes.delay_topics.prefix
  end

  def test_without_delay_topics_the_blocks_are_evaluated_once_too
    evaluated = 0
    @application.routes.draw { (evaluated += 1) && topic("t") { consumer Handles } }
    3.times { assert_nil @application.routes.delay_topics }
    assert_equal 1, evaluated
  end

  # What a block asks for, at the outside, in a group and in a topic.
  def asking(ask)
    application = @application
    inside = -> { ask.call(application) }
    {outside: proc { inside.call }, group: proc { consumer_group("g") { inside.call } }, topic: proc { topic("t") { inside.call } }}
  end

  def test_a_block_that_asks_for_the_routes_is_an_error
    asks = {validate!: :validate!.to_proc, lag: :lag.to_proc, parked_keys: :parked_keys.to_proc, check!: :check!.to_proc, tasks: :scheduled_tasks.to_proc,
            start: :start.to_proc, topics: ->(application) { application.routes.topics },
            each_message: ->(application) { application.each_message("t") { nil } }, to_s: ->(application) { application.routes.to_s },
            latest_topics: ->(application) { application.routes.latest_topics }, delay_topics: ->(application) { application.routes.delay_topics },
            later: ->(application) { application.producer.produce_later(at: Time.now, topic: "t", payload: "x") },
            fiber: ->(application) { Fiber.new { application.validate! }.resume },
            thread: ->(application) { Thread.new { application.validate! }.tap { |thread| thread.report_on_exception = false }.value }}
    asks.each do |name, ask|
      %i[outside group topic].each do |place|
        setup
        @application.routes.draw(&asking(ask).fetch(place))
        error = assert_raises(Guildhall::ConfigurationError, "#{name} #{place}") { @application.validate! }
        assert_match(/\Athe block of routes at #{__FILE__}:\d+ asks for the routes, as validate!, lag and produce_later do/, error.message)
      end
    end
  end

  def test_what_says_nothing_about_routes_may_be_asked_for
    asked = []
    asking(->(application) { asked << [application.partitions, application.state, application.config.group_id] }).each_value do |block|
      @application.routes.draw(&block)
    end
    @application.routes.draw { topic("t") { serializer Guildhall::JSON } }
    assert_raises(Guildhall::ConfigurationError) { @application.validate! } # the topics within have no consumer
    assert_equal [[[], :initialized, "guildhall"]], asked.uniq
  end

  def test_a_block_that_draws_more_routes_is_an_error_the_first_time
    %i[outside group topic].each do |place|
      setup
      @application.routes.draw(&asking(->(application) { application.routes.draw { topic("u") { serializer Guildhall::JSON } } }).fetch(place))
      2.times { assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message, "draws more routes" }
    end
  end

  def test_the_routes_of_another_application_may_be_asked_for
    other = Guildhall::Kafka::Application.new
    other.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application = @application
    other.routes.draw { topic("t") { serializer Guildhall::JSON } }
    application.routes.draw { other.validate!.each { |one| topic(one.name) { serializer Guildhall::JSON } } }
    2.times { assert_equal ["t"], application.validate!.map(&:name) }
    other.routes.draw { application.validate! }
    assert_includes assert_raises(Guildhall::ConfigurationError) { application.validate! }.message, "asks for the routes"
  end

  def test_a_thread_that_a_block_has_started_may_ask_later
    application = @application
    ended = Queue.new
    threads = []
    @application.routes.draw do
      threads << Thread.new { ended.pop && application.validate!.map(&:name) } if threads.empty?
      topic("t") { serializer Guildhall::JSON }
    end
    @application.validate!
    ended << true
    assert_equal ["t"], threads.first.value
  end

  def test_routes_that_say_something_else_each_time
    names = %w[a b]
    @application.routes.draw { topic(names.shift) { serializer Guildhall::JSON } until names.empty? }
    @application.validate!
    assert_includes assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message,
      "no topic is routed any more (before: a, b): the blocks of the routes are evaluated at each check, and have to say the same each time"
  end

  def test_an_application_that_runs_keeps_its_routes
    names = %w[a b]
    @application.routes.draw { topic(names.shift) { consumer Handles } until names.empty? }
    @application.start
    2.times { assert_equal %w[a b], @application.validate!.map(&:name) }
  end

  def test_a_block_may_ask_for_the_producer
    application = @application
    producers = []
    draw { (producers << application.producer) && topic("t") { serializer Guildhall::JSON } }
    message = @application.producer.middleware.run({topic: "t", payload: {"id" => 1}})
    assert_equal '{"id":1}', message[:payload]
    assert_equal [@application.producer], producers.uniq
  end
end
