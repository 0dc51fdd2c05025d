# frozen_string_literal: true

require "test_helper"

# The examples that the guides show, as a reader would run them.
class ExamplesTest < GuildhallTest
  def test_kafka
    out, err, status = run_command([RbConfig.ruby, "examples/kafka.rb"])
    assert_predicate status, :success?, err
    assert_equal "paid: 140", out.lines(chomp: true).last
    assert_equal 3, out.scan("thirteen brings bad luck").size
  end

  def test_kafka_monitoring
    out = run_example("kafka_monitoring")
    assert_match(%r{^orders/0: [1-9]\d* messages, \d+\.\d s behind$}, out)
    assert_match(/^librdkafka has received \d+ messages$/, out)
    assert_equal "caught up", out.lines(chomp: true).last
  end

  def test_kafka_virtual_partitions
    assert_equal "threads: several, each customer's orders in order: true\n", run_example("kafka_virtual_partitions")
  end

  def test_kafka_producing
    assert_equal "o1: 42 in 15 bytes\no2: 100 in 15 bytes\n", run_example("kafka_producing")
  end

  def test_kafka_dead_letters
    assert_equal [
      "no JSON from offset 1 after 0 attempts: Guildhall::JSON::ParseError",
      "{\"id\": 3} from offset 2 after 3 attempts: RuntimeError"
    ], run_example("kafka_dead_letters").lines(chomp: true)
  end

  private

  def run_example(name)
    out, err, status = run_command([RbConfig.ruby, "examples/#{name}.rb"])
    assert_predicate status, :success?, "#{out}\n#{err}"
    out
  end
end
