# frozen_string_literal: true

require "socket"
require "test_helper"
require "guildhall/kafka"

class KafkaSwarmWorkerTest < GuildhallTest
  LIMIT = 30 # seconds
  Answer = Guildhall::Kafka::Health::Answer
  Health = Struct.new(:live, :ready)
  Server = Struct.new(:orders) do
    def stop_soon = orders << :stop
    def end_now = orders << :now
  end

  def setup
    @parent, socket = UNIXSocket.pair
    @orders = Thread::Queue.new
    before = Thread.list
    @health = Health.new(Answer.new(problems: ["t/0 is stalled"]), Answer.new(problems: []))
    @errors = errors = Thread::Queue.new
    @ends = ends = Thread::Queue.new
    Guildhall::Kafka::Swarm::Worker::ParentLink.new(socket, Server.new(@orders), @health, ->(details) { ends << details }) { |error| errors << error.class }.start
    @threads = Thread.list - before
    @socket = socket
  end

  def teardown
    @parent.close
    @threads.each { |thread| thread.join(LIMIT) } # both end when the parent is gone
    @socket.close
  end

  def test_it_says_how_it_is
    assert_equal [["t/0 is stalled"], []], Guildhall::JSON.decode(@parent.gets)
    assert @parent.wait_readable(LIMIT)
  end

  # The parent would kill a process that says nothing any more.
  def test_it_says_something_as_well_where_its_health_cannot_be_found_out
    @health.ready = nil # which has no problems: a NoMethodError
    assert_equal NoMethodError, @errors.pop(timeout: LIMIT)
    eventually(LIMIT) { @parent.gets.include?("its health cannot be found out") }
    @health.ready = Answer.new(problems: [])
    eventually(LIMIT) { Guildhall::JSON.decode(@parent.gets) == [["t/0 is stalled"], []] }
  end

  def test_it_says_something_as_well_where_its_health_is_no_text
    @health.ready = Answer.new(problems: ["\xFF"])
    assert_equal Guildhall::JSON::EncodeError, @errors.pop(timeout: LIMIT)
    eventually(LIMIT) { @parent.gets.include?("its health cannot be found out") }
  end

  def test_it_does_what_the_parent_asks
    @parent.write("stop\nend now\n")
    assert_equal %i[stop now], Array.new(2) { @orders.pop(timeout: LIMIT) }
  end

  def test_it_is_told_how_others_have_ended
    child = Guildhall::Kafka::Swarm::ChildProcess.new(1, nil)
    child.instance_variable_set(:@socket, @parent)
    ended = {"number" => 2, "pid" => 4711, "status" => "SIGKILL (signal 9)"}
    child.tell_of_end(ended)
    child.tell_of_end(ended)
    @parent.write("end now\n")
    assert_equal [ended, ended, :now], [@ends.pop(timeout: LIMIT), @ends.pop(timeout: LIMIT), @orders.pop(timeout: LIMIT)]
    assert_empty @orders
  end

  def test_it_stops_when_the_parent_is_gone
    @parent.close
    assert_equal :stop, @orders.pop(timeout: LIMIT)
  end
end
