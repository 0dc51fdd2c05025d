# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaMultiplexingTest < GuildhallTest
  class Idle < Guildhall::Kafka::Consumer
    def consume = nil
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def problems
    assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message
  end

  def test_holds_for_the_group_that_it_stands_in
    @application.routes.draw do
      topic("a") { consumer Idle }
      multiplexing 2
      consumer_group("others") { topic("b") { consumer Idle } }
      consumer_group("elastic") do
        multiplexing 2..5, lag: 3
        topic("c") { consumer Idle }
      end
    end
    a, b, c = @application.validate!.map(&:multiplexing)
    assert_equal [2..2, false, "2 members"], [a.size, a.elastic?, a.to_s]
    assert_equal [1..1, true], [b.size, b.single?]
    assert_equal [2, 5, true, 3, 30, 600], [c.minimum, c.maximum, c.elastic?, c.lag, c.grow_after, c.shrink_after]
    assert_match(/^guildhall +a .* 2 members$/, @application.routes.to_s)
    assert_match(/^elastic +c .* 2 to 5 members$/, @application.routes.to_s)
    assert_equal [[2, 2], [1, 1], [2, 5]], @application.routes.topics.map { |topic| topic.summary["members"] }
  end

  def test_everything_that_is_wrong_is_reported_together
    @application.routes.draw do
      multiplexing 0
      topic("a") { consumer Idle }
      consumer_group("backwards") { multiplexing(5..2) && topic("a") { consumer Idle } }
      consumer_group("endless") { multiplexing(2..) && topic("a") { consumer Idle } }
      consumer_group("fixed") { multiplexing(3, lag: 5) && topic("a") { consumer Idle } }
      consumer_group("options") { multiplexing(1..3, lags: 5, grow_after: 30_000) && topic("a") { consumer Idle } }
      consumer_group("twice") { 2.times { multiplexing 2 } && topic("a") { consumer Idle } }
      consumer_group("empty") { multiplexing 2 }
      consumer_group("none") { multiplexing(2) && topic("a") { assign(partitions: {0 => :all}) && consumer(Idle) } }
    end
    text = problems
    ["group guildhall: multiplexing must be an Integer from 1 to 100, or a Range of two of them (2..5), not 0",
     "group backwards: multiplexing must be", "group endless: multiplexing must be",
     "group fixed: multiplexing 3 cannot have lag: the number of members changes with a Range only",
     "group options: multiplexing unknown keyword lags; did you mean lag?", "group options: multiplexing grow_after is in seconds",
     "group twice: multiplexing is set twice", "group empty: multiplexing: no topic is consumed by this group", "group none: multiplexing: no topic is consumed by this group"].each { |part| assert_includes text, part }
  end

  def test_a_range_makes_no_sense_with_static_members
    @application.config.kafka[:"group.instance.id"] = "a"
    @application.routes.draw { multiplexing(2..5) && topic("a") { consumer Idle } }
    assert_includes problems, "group guildhall: multiplexing 2..5 cannot have group.instance.id"
    @application.config.kafka.delete(:"group.instance.id")
    assert_equal 1, @application.validate!.size
  end
end
