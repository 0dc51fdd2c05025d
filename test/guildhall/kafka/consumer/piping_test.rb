# frozen_string_literal: true

require "test_helper"
require "support/kafka_partition"

class KafkaPipingTest < GuildhallTest
  def kafka(&block)
    KafkaPartition.new(Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { instance_exec(&block) } })
  end

  def sent(kafka) = kafka.application.dead_letters

  def test_messages_keep_bytes_key_headers_and_order
    kafka = kafka { pipe_to("other", headers: {"by" => "me"}) }
    kafka.deliver(0...3).work
    expected = (0...3).map { |offset| {topic: "other", payload: offset.to_s, key: "k#{offset}", headers: {"by" => "me"}} }
    assert_equal [expected, 3], [sent(kafka), kafka.committed]
  end

  def test_messages_without_a_key_stay_together
    kafka = kafka { pipe_to("other", messages.first(2)) }
    kafka.application.producer.define_singleton_method(:partition_count) { |_topic| 4 }
    records = (0...3).map { |offset| KafkaPartition::Record.new(offset, offset == 1 ? nil : "x") }
    records.each { |record| record.define_singleton_method(:partition) { 6 } }
    kafka.partition.deliver(records, 3)
    kafka.work
    assert_equal [{topic: "other", partition: 2, payload: "x", headers: {}}, {topic: "other", partition: 2, headers: {}}], sent(kafka)
  end

  def test_what_does_not_arrive_fails_the_batch_which_is_sent_again
    kafka = kafka { pipe_to("other") }
    kafka.application.producer.failing = ["k1"]
    kafka.deliver(0...3).work
    assert_equal [%w[k0 k1 k2 k0 k1 k2], 3], [sent(kafka).map { |message| message[:key] }, kafka.committed]
    assert_equal [Guildhall::TimeoutError], kafka.errors.map(&:class)
  end
end
