# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaTasksTest < GuildhallTest
  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("shop.schedule")
    @ran = ran = []
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.group_id = "shop"
    @application.config.logger = nil
    @application.routes.draw { schedule { task("daily report", "0 3 * * *") { |due| ran << due } } }
  end

  def teardown
    @application.producer.close
    @broker.stop
  end

  def asked = @application.scheduled_tasks.first.asked

  def test_a_run_is_asked_for_and_not_done_here
    @application.run_task("daily report", by: "ada", id: "1")
    assert_equal [["1", :asked, "ada"], [], nil], [asked.to_h.values_at(:id, :state, :by), @ran, @application.scheduled_tasks.first.run]
    first = asked
    assert_equal first, @application.run_task("daily report", by: "bob", id: "1")
    @application.run_task("daily report", by: "bob", id: "2")
    assert_equal ["2", true], [asked.id, asked.due > first.due]
  end

  def test_a_run_here
    assert_nil @application.run_task("daily report", here: true)
    assert_equal [1, nil], [@ran.size, asked]
  end

  def test_a_task_that_is_not_there
    assert_includes assert_raises(Guildhall::ArgumentError) { @application.run_task("daily reports") }.message, "daily report"
  end
end
