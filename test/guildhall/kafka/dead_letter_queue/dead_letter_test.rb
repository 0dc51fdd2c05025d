# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaDeadLetterTest < GuildhallTest
  SOURCE = {"source_topic" => "orders", "source_partition" => "3", "source_offset" => "4711", "source_consumer_group" => "shop",
            "source_attempts" => "4", "source_error_class" => "IOError", "source_error_place" => "app/orders.rb:7", "source_error_message" => "no"}.freeze
  Message = Data.define(:topic, :partition, :offset, :timestamp, :key, :raw_payload, :headers)

  def dead_letter(headers)
    Guildhall::Kafka::DeadLetterQueue::DeadLetter.from(Message.new("orders.dead", 0, 7, Time.at(1), "k", "v", headers))
  end

  def test_its_headers_say_where_it_came_from
    one = dead_letter({**SOURCE, "trace" => "1"})
    assert_equal ["orders", 3, 4711, "shop", 4, "IOError"],
      [one.source_topic, one.source_partition, one.source_offset, one.source_group, one.attempts, one.error_class]
    assert_equal ["app/orders.rb:7", "no"], [one.error_place, one.error_message]
    assert_equal ["orders/3@4711", "orders.dead/0@7", {"trace" => "1"}], [one.source, one.to_s, one.original_headers]
  end

  def test_the_last_of_several_values_counts
    one = dead_letter(SOURCE.transform_values { |value| ["other", nil, value] })
    assert_equal ["orders/3@4711", "shop", 4, "IOError"], [one.source, one.source_group, one.attempts, one.error_class]
  end

  def test_a_message_that_somebody_else_has_put_there
    one = dead_letter({"source_partition" => "many", "caf\xC3\xA9".b => "1"})
    assert_equal ["-", nil, nil, nil], [one.source, one.source_topic, one.source_partition, one.attempts]
    assert_equal "1", one.headers["café"]
  end
end
