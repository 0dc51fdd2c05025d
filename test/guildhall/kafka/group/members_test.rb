# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

# On the embedded broker; the lag is given.
class KafkaMembersTest < GuildhallTest
  LIMIT = 60 # seconds

  class Idle < Guildhall::Kafka::Consumer
    def consume = nil
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 6)
    @application = Guildhall::Kafka::Application.new(lag_interval: 600)
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers, "session.timeout.ms": 2_000, "heartbeat.interval.ms": 200}
    @application.config.logger = nil
    @events = events = Thread::Queue.new
    @application.instrumentation.subscribe("members.changed") { |event| events << event.payload }
  end

  def teardown
    @application.stop(timeout: 20)
    @broker.stop
  end

  # @param kafka [Hash] of the topic
  def start(multiplexing, kafka: {}, **options)
    @application.routes.draw do
      multiplexing(multiplexing, **options)
      topic("t") { consumer(Idle) && kafka(kafka) }
    end
    @application.start
  end

  def members = @application.members.first
  def shares = members.listeners.map { |listener| listener.partitions.size }

  def test_each_member_has_its_share_and_all_see_all
    start(3)
    eventually(LIMIT) { shares == [2, 2, 2] }
    assert members.assigned?
    assert_equal (0..5).to_a, @application.partitions.map(&:number).sort
    assert_equal [1, 2, 3], @application.listeners.map(&:number)
    threads = Thread.list.filter_map(&:name).grep(/guildhall listener/).sort
    assert_equal ["guildhall listener guildhall", "guildhall listener guildhall 2", "guildhall listener guildhall 3"], threads
    assert @application.stop(timeout: 60)
    assert_empty Thread.list.filter_map(&:name).grep(/guildhall listener/)
  end

  def test_static_names_are_numbered
    start(2, kafka: {"group.instance.id": "a"})
    topic = @application.validate!.first
    assert_equal %w[a a-2], @application.listeners.map { |one| @application.client_settings(topic, one.number)[:"group.instance.id"] }
  end

  def test_a_member_joins_and_leaves_with_the_lag
    start(1..2, lag: 1, grow_after: 0.001, shrink_after: 0.001)
    eventually(LIMIT) { shares == [6] }
    adapt_until(5.0) { members.listeners.size == 2 }
    assert_equal({group: "guildhall", members: 2, change: 1, seconds: 5.0}, @events.pop(timeout: LIMIT))
    eventually(LIMIT) { shares == [3, 3] }
    adapt_until(0.0) { members.listeners.any?(&:leaving?) }
    assert_equal({group: "guildhall", members: 1, change: -1, seconds: 0.0}, @events.pop(timeout: LIMIT))
    eventually(LIMIT) { adapt(0.0) && shares == [6] }
    assert members.assigned?
  end

  # Nobody asks a broker any more for one that has left.
  def test_a_member_that_has_left_without_an_answer_is_forgotten
    start(1..2, lag: 1, grow_after: 0.001, shrink_after: 600)
    eventually(LIMIT) { shares == [6] }
    adapt_until(5.0) { members.listeners.size == 2 }
    leaving = members.listeners.last
    leaving.answers.define_singleton_method(:any?) { false }
    leaving.stop(Guildhall::Clock.now + 20)
    eventually(LIMIT) { leaving.ended? }
    members.measure_lag
    refute_includes members.listeners, leaving
  end

  def test_none_joins_after_the_stop
    start(1..2, lag: 1, grow_after: 0.001)
    eventually(LIMIT) { shares == [6] }
    adapt(5.0)
    members.stop(Guildhall::Clock.now + 20)
    sleep(0.01)
    adapt(5.0)
    assert_empty @application.listeners.reject(&:leaving?)
  end

  private

  def adapt(lag)
    members.send(:adapt, lag)
    true
  end

  def adapt_until(lag)
    eventually(LIMIT) { adapt(lag) && yield }
  end
end
