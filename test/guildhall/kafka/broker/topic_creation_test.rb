# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "socket"

# Topics that the framework needs, where no broker can be asked for them yet.
class KafkaTopicCreationTest < GuildhallTest
  Declared = Guildhall::Kafka::Routing::DeclaredTopic

  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  def application(servers)
    Guildhall::Kafka::Application.new.tap do |application|
      application.config.kafka = {"bootstrap.servers": servers}
      application.config.logger = nil
      application.routes.draw do
        topic("t") do
          consumer Handles
          retry_topics 1, prefix: "again"
          dead_letter_queue topic: "dead"
        end
      end
    end
  end

  def creation(application, errors)
    Guildhall::Kafka::Broker::TopicCreation.new({"bootstrap.servers": application.config.kafka[:"bootstrap.servers"]}, Declared.made(application.validate!)) { |*error| errors << error }
  end

  def test_without_a_broker_nothing_is_known
    silent = TCPServer.new("127.0.0.1", 0)
    errors = []
    refute creation(application("127.0.0.1:#{silent.addr[1]}"), errors).run
    assert_empty errors
  ensure
    silent&.close
  end

  def test_what_is_there_is_not_created
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("again.1", partitions: 1)
      errors = []
      assert creation(application(broker.bootstrap_servers), errors).run
      assert_empty errors
    end
  end

  def test_dead_letters_of_routes_that_have_one_of_their_own
    application = application("")
    application.routes.draw do
      topic("jobs") do
        consumer Handles
        dead_letter_queue_of_its_own
      end
    end
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[again.1 jobs].each { |name| broker.create_topic(name, partitions: 2) }
      application.config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
      errors = []
      2.times { assert creation(application, errors).run }
      assert_empty errors
      assert_equal [0, 0], broker.watermarks("jobs.dead", 1)
      assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { broker.create_topic("jobs.dead") } # as many partitions as the topic
    end
  end

  def test_a_listener_asks_until_a_broker_answers_says_so_once_and_can_be_stopped_meanwhile
    server = TCPServer.new("127.0.0.1", 0) # takes connections, and answers nothing
    application = application("127.0.0.1:#{server.addr[1]}")
    errors = Thread::Queue.new
    application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload.values_at(:type, :topic, :error) }
    connections = Thread::Queue.new
    accepting = Thread.new { loop { connections << server.accept } }
    application.start
    type, topic, error = errors.pop(timeout: 60)
    assert_equal ["topic_creation", "again.1", Guildhall::TimeoutError], [type, topic, error.class]
    connections.clear
    assert connections.pop(timeout: 60), "nobody has asked again"
    application.stop(timeout: 20)
    assert_empty errors
  ensure
    accepting&.kill&.join
    connections&.size&.times { connections.pop.close }
    server&.close
  end

  # The embedded broker cannot create topics over the protocol: what an admin client would do is said here.
  class Admin
    def initialize(answers, created)
      @answers = answers
      @created = created
    end

    def create_topic(name, *) = (@name = name) && self

    def wait(**)
      answer = @answers.shift
      raise Rdkafka::RdkafkaError.new(answer, broker_message: "not\nallowed") if answer

      @created << @name
    end
  end

  # Brokers that leave requests unanswered: all topics together have the time of one.
  class Silent
    def initialize = @asked = []
    attr_reader :asked, :waited

    def create_topic(name, *) = (@asked << name) && self

    def wait(max_wait_timeout_ms:)
      (@waited ||= []) << [@asked.size, max_wait_timeout_ms]
      raise Rdkafka::AbstractHandle::WaitTimeoutError, "too late"
    end
  end

  def test_all_topics_are_asked_for_before_an_answer_is_waited_for
    admin = Silent.new
    errors = []
    creation = Guildhall::Kafka::Broker::TopicCreation.new({}, Declared.made(application("127.0.0.1:1").validate!)) { |_, name| errors << name }
    names = %w[a b c]
    assert_equal names, creation.send(:create, admin, names.to_h { |name| [name, [1]] })
    assert_equal [names, [3, 3, 3], names], [admin.asked, admin.waited.map(&:first), errors]
    assert(admin.waited.map(&:last).each_cons(2).all? { |one, following| following <= one }, "one limit for all of them")
  end

  # Is asked for all topics when some are there that were missing.
  Client = Struct.new(:asked) { def topic_names(_timeout_ms) = asked << :all }

  def test_a_topic_that_was_refused_is_created_once_it_may_be
    errors = Thread::Queue.new
    created = Thread::Queue.new
    admin = Admin.new([29, 29, nil], created)
    creation = Guildhall::Kafka::Broker::TopicCreation.new({}, Declared.made(application("127.0.0.1:1").validate!), pauses: Guildhall::GrowingPauses.new(0.01, 0.02)) { |*error| errors << error }
    creation.define_singleton_method(:run) { @refused = create(admin, {"again.1" => [1]}) }
    creation.start { true }
    assert_predicate creation, :refused?
    creation.try_again(Client.new(created))
    refute_predicate creation, :refused?
    assert_equal ["again.1", :all], [created.pop(timeout: 60), created.pop(timeout: 60)]
    assert_equal 2, errors.size
    error, name = errors.pop
    assert_equal "again.1", name
    assert_instance_of Guildhall::Kafka::AuthorizationError, error
    assert_match(/\ATOPIC_AUTHORIZATION_FAILED: topic again\.1 was not created: not allowed; grant/, error.message)
  end

  def test_an_error_does_not_end_the_tries
    errors = Thread::Queue.new
    created = Thread::Queue.new
    creation = Guildhall::Kafka::Broker::TopicCreation.new({}, Declared.made(application("127.0.0.1:1").validate!), pauses: Guildhall::GrowingPauses.new(0.01, 0.02)) { |*error| errors << error }
    tries = [-> { ["again.1"] }, -> { raise Rdkafka::ClosedInnerError }, -> { raise NotImplementedError, "no" }, -> { [] }]
    creation.define_singleton_method(:run) { (@refused = tries.shift.call) && true }
    creation.start { true }
    creation.try_again(Client.new(created))
    assert_equal :all, created.pop(timeout: 60)
    assert_equal([[Rdkafka::ClosedInnerError, "again.1"], [NotImplementedError, "again.1"]], Array.new(2) { errors.pop.then { |error, name| [error.class, name] } })
  end
end
