# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaSwarmCombinedHealthTest < GuildhallTest
  Child = Struct.new(:number, :running, :sick, :unready) { alias_method :running?, :running }
  Parent = Struct.new(:state)

  def setup
    @children = [1, 2].map { |number| Child.new(number, true, [], []) }
    @parent = Parent.new(:running)
    @health = Guildhall::Kafka::Swarm::CombinedHealth.new(@children, @parent)
  end

  def test_it_is_alive_while_one_process_is
    assert_predicate @health.live, :ok?
    @children[0].sick = ["t/0 is stalled", "t/1 is stalled"]
    assert_predicate @health.live, :ok?
    @children[1].running = false
    assert_equal "process 1: t/0 is stalled; process 1: t/1 is stalled; process 2: does not run", @health.live.to_s
  end

  def test_it_is_ready_when_all_are
    assert_predicate @health.ready, :ok?
    @children[1].unready = ["starting"]
    assert_equal "process 2: starting", @health.ready.to_s
    @children[1].running = false
    assert_equal "process 2: does not run", @health.ready.to_s
    @parent.state = :quiet
    assert_equal "draining", @health.ready.to_s
  end
end
