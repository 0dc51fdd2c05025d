# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/kafka/testing"
require "rack/mock_request"

# Looking through the messages of a topic, on the embedded broker.
class WebExplorerTest < GuildhallTest
  Web = Guildhall::Web
  Topics = Guildhall::Kafka::Admin::Topics

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 2)
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.logger = nil
    @cluster = Web::Cluster.new(@application)
  end

  def teardown
    @cluster.close
    @broker.stop
  end

  # One in five is broken.
  def produce(count, partition: 0)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    sent = Array.new(count) { |i| producer.produce(topic: "t", partition:, key: "k#{i % 3}", payload: i % 5 == 4 ? "{" : %({"id":#{i}})) }
    sent.each(&:wait)
    @ends = {0 => 0, 1 => 0, **@ends.to_h, partition => count}
  ensure
    producer.close
  end

  def look(max_bytes: 256_000_000, **form)
    partitions = @ends.map { |number, last| Topics::Partition.new(number:, leader: 1, replicas: [1], in_sync: [1], offsets: 0...last) }
    topic = Topics::Topic.new(name: "t", id: nil, internal: false, partitions:)
    fields = {from: "newest", at: nil, partition: nil, key: nil, where: nil, codec: nil, rest: nil, **form}
    Web::Explorer.new(@cluster, topic, Web::Explorer::Form.new(**fields), routed: false, max_bytes:).run
  end

  # @return [Array<Array(Integer, Integer)>] partitions and offsets of all messages, page after page
  def every_page
    seen = []
    rest = nil
    loop do
      result = look(rest:)
      seen.concat(result.found.map { |found| [found.record.partition, found.record.offset] })
      rest = result.rest or return seen
    end
  end

  def offsets(result) = result.found.map { |found| found.record.offset }

  def test_newest_first_page_after_page_every_message_once
    produce(430)
    pages = []
    rest = nil
    loop do
      result = look(rest:)
      pages << offsets(result)
      rest = result.rest or break
    end
    assert_equal 429.downto(0).to_a, pages.flatten
    assert_equal 50, pages.first.size
  end

  def test_newest_of_several_partitions
    produce(120)
    produce(70, partition: 1)
    assert_equal [*[0].product([*0...120]), *[1].product([*0...70])], every_page.sort
  end

  def test_every_message_once_although_their_times_are_in_no_order
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    order = Random.new(1)
    Array.new(130) { |i| producer.produce(topic: "t", partition: i % 2, payload: "1", timestamp: order.rand(1_700_000_000_000..1_700_000_009_999)) }
      .each(&:wait)
    producer.close
    @ends = {0 => 65, 1 => 65}
    assert_equal [0, 1].product([*0...65]), every_page.sort
  end

  # Large messages, or many partitions.
  def test_a_first_window_that_is_too_wide_is_made_narrower
    produce(150)
    seen = []
    rest = nil
    @application.config.max_messages = 5
    loop do
      result = look(max_bytes: 1_000, rest:)
      refute_empty result.found
      seen.concat(offsets(result))
      rest = result.rest or break
    end
    assert_equal 149.downto(0).to_a, seen
  end

  def test_a_condition_also_shows_what_cannot_be_decoded
    produce(20)
    result = look(where: "$.id > 15")
    assert_equal [19, 18, 17, 16, 14, 9, 4], offsets(result)
    assert_equal [20, 4, nil], [result.messages, result.undecodable, result.rest]
    assert_equal([4], result.found.filter_map { |found| found.record.offset if found.failure }.last(1))
  end

  def test_from_an_offset_on
    produce(100)
    result = look(from: "offset", at: "20", partition: 0)
    assert_equal [*20...70], offsets(result)
    assert_equal "0:70", result.rest
    assert_equal [*70...100], offsets(look(from: "offset", at: "20", partition: 0, rest: result.rest))
  end

  # An error's message may quote it: as that of Ruby's JSON does.
  def test_why_a_payload_is_not_decoded_is_hidden_with_it
    produce(5)
    application = @application
    consumer = Class.new(Guildhall::Kafka::Consumer) { def consume; end }
    application.routes.draw do
      topic(:t) do
        consumer consumer
        deserializer ->(payload) { raise KeyError, "secret #{payload}" }
      end
    end
    cluster = @cluster
    topic = Topics::Topic.new(name: "t", id: nil, internal: false, partitions: [Topics::Partition.new(number: 0, leader: 1, replicas: [1], in_sync: [1], offsets: 0...5)])
    cluster.define_singleton_method(:topic) { |_| topic }
    cluster.define_singleton_method(:offsets) { |*| [] }
    [true, false].each do |shown|
      web = Web.new(application:, authorize: ->(_, action, _) { shown || action == :read })
      web.define_singleton_method(:cluster) { cluster }
      ["/topics/t/messages", "/topics/t/0/1"].each do |path|
        body = Rack::MockRequest.new(web).get(path).body
        assert_includes body, "KeyError"
        assert_equal shown, body.include?("secret"), path
      end
    end
  end

  def test_a_key
    produce(30)
    assert_equal [28, 25, 22, 19, 16, 13, 10, 7, 4, 1], offsets(look(key: "k1"))
  end

  def test_what_a_form_cannot_mean
    produce(1)
    {{from: "offset"} => "say at which offset", {from: "offset", at: "x"} => "offset is a number", {from: "time", at: "x"} => "time is 10m",
     {from: "there"} => "from is one of", {rest: "x"} => "rest is PARTITION:OFFSET", {partition: 9} => "no partition 9",
     {where: "$.["} => "JSONPath $.["}.each do |form, text|
      error = assert_raises(Guildhall::ArgumentError, form.inspect) { look(**form) }
      assert_includes error.message, text
    end
  end
end
