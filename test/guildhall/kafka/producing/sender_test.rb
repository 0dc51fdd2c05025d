# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/kafka/producing/client"

# librdkafka's producer behind C: what is handed over, and what comes back.
class KafkaSenderTest < GuildhallTest
  Kafka = Guildhall::Kafka
  Clock = Guildhall::Clock

  def setup
    @broker = Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 2)
    @told = Queue.new
    @client = connect
  end

  def teardown
    @client.close(Clock.now + 5)
    @broker.stop
  end

  def connect(**settings)
    Kafka::Producing::Client.new({"bootstrap.servers": @broker.bootstrap_servers, **settings}) { |event| @told << event }
  end

  # @return [Array<Guildhall::Kafka::Message>] the first ones of the topic
  def read(count)
    application = Kafka::Application.new
    application.config.logger = nil
    application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    application.each_message("t").first(count)
  end

  def hand_over(*messages, awaited: false, client: @client)
    deliveries, code = client.hand_over(messages, nil, awaited)
    assert_equal 0, code
    deliveries
  end

  def test_messages_arrive_and_say_where
    deliveries = hand_over({topic: "t", payload: "a", partition: 1}, {topic: :t, payload: "b", partition: 1})
    assert deliveries.wait(nil, 20)
    assert_equal [2, 0], [deliveries.taken, deliveries.pending]
    assert_equal [[0, 1, 0], [0, 1, 1]], [deliveries.outcome(0), deliveries.outcome(1)]
  end

  def test_everything_that_a_message_has_arrives
    binary = "\xFF\x00\xFE".b
    time = Time.at(1_700_000_000, 123, :millisecond)
    hand_over({topic: "t", payload: binary, key: "", partition: 0, timestamp: time,
               headers: {"one" => "1", two: :b, "none" => nil, "many" => ["x", nil, 3], "empty" => ""}},
      {topic: "t", payload: nil, key: binary, partition: 0, timestamp: 1_700_000_000_456}).wait(nil, 20)
    first, second = read(2)
    assert_equal [binary, "", 1_700_000_000_123], [first.payload, first.key, (first.timestamp.to_r * 1000).to_i]
    assert_equal({"one" => "1", "two" => "b", "none" => nil, "many" => ["x", nil, "3"], "empty" => ""}, first.headers)
    assert_equal [nil, binary, 1_700_000_000_456], [second.payload, second.key, (second.timestamp.to_r * 1000).to_i]
  end

  def test_many_headers
    headers = (1..100).to_h { |number| ["h#{number}", number.to_s * 50] }
    hand_over({topic: "t", payload: "1", partition: 0, headers:}).wait(nil, 20)
    assert_equal headers, read(1).first.headers
  end

  BAD = {
    [1] => /a message must be a Hash, not an Integer/,
    [{topic: "t", paylod: "1"}] => /a message has topic, payload, key, partition, timestamp, headers; not :paylod/,
    [{payload: "1"}] => /topic must be at most 249 letters.*, not nil/,
    [{topic: "", payload: "1"}] => /topic must be at most 249 letters.*, not a String/,
    [{topic: "a\0b", payload: "1"}] => /topic must be at most 249 letters.*, not a String/,
    [{topic: "t", payload: {}}] => /payload must be a String or nil, not a Hash/,
    [{topic: "t", key: 7}] => /key must be a String or nil, not an Integer/,
    [{topic: "t", partition: "0"}] => /partition must be an Integer or nil, not a String/,
    [{topic: "t", timestamp: 1.5}] => /timestamp must be milliseconds, a Time or nil, not a Float/,
    [{topic: "t", headers: [1]}] => /headers must be a Hash, with .* without NUL for keys, or nil, not an Array/,
    [{topic: "t", headers: {1 => "1"}}] => /headers must be a Hash, with .* without NUL for keys/,
    [{topic: "t", headers: {"a\0" => "1"}}] => /headers must be a Hash, with .* without NUL for keys/
  }.freeze

  def test_what_is_no_message_is_refused_and_says_why
    BAD.each do |messages, text|
      error = assert_raises(Guildhall::ArgumentError, messages.inspect) { @client.hand_over(messages, nil, false) }
      assert_match text, error.message
    end
    assert_equal 0, @client.queue_size
  end

  def test_of_many_messages_none_is_sent_where_one_is_none
    assert_raises(Guildhall::ArgumentError) { @client.hand_over([{topic: "t", payload: "1"}, {topic: "t", payload: 2}], nil, false) }
    assert_equal 0, @client.queue_size
  end

  # Short Strings lie where a compaction moves them; long ones may be changed.
  def test_what_a_header_does_when_it_is_asked_for_its_text
    text = +"short"
    mean = Object.new
    mean.define_singleton_method(:to_s) do
      text.replace("changed by another header #{"x" * 1_000}")
      GC.compact if GC.respond_to?(:compact)
      "mean"
    end
    headers = {+"a1" => text, +"b2" => mean, **(1..40).to_h { |number| ["c#{number}", "v#{number}"] }}
    hand_over({topic: "t", payload: +"p1", key: +"k1", partition: 0, headers:}).wait(nil, 20)
    message = read(1).first
    assert_equal %w[p1 k1], [message.payload, message.key]
    assert_equal headers.to_h { |name, value| [name, value.equal?(mean) ? "mean" : value] }, message.headers
  end

  def test_a_client_that_is_closed_by_a_header
    closing = Object.new
    client = connect
    closing.define_singleton_method(:to_s) { client.close(Guildhall::Clock.now + 5) && "closed" }
    deliveries, code = client.hand_over([{topic: "t", payload: "1", partition: 0}, {topic: "t", headers: {"a" => closing}}], nil, false)
    assert_equal [1, -150], [deliveries.taken, code]
    assert deliveries.wait(nil, 20)
  end

  def test_the_rest_is_not_taken_by_another_client
    messages = Array.new(3) { {topic: "t", payload: "x"} }
    full = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2}) { nil }
    deliveries, = full.hand_over(messages, nil, false)
    assert_equal [2, -150], @client.hand_over(messages, deliveries, false).then { |same, code| [same.taken, code] }
  ensure
    full&.close(Clock.now)
  end

  # A header's to_s may do anything; the messages before are on their way, and nothing waits for the one that is none.
  def test_a_message_that_raises_in_the_middle
    raising = Object.new
    def raising.to_s = raise("no text")
    assert_raises(RuntimeError) do
      @client.hand_over([{topic: "t", payload: "1", partition: 0}, {topic: "t", headers: {"a" => raising}}], nil, false)
    end
    assert @client.flush(Clock.now + 20)
    assert_equal ["1"], read(1).map(&:payload)
  end

  def test_a_partition_that_does_not_exist
    hand_over({topic: "t", payload: "1"}).wait(nil, 20)
    deliveries, code = @client.hand_over([{topic: "t", payload: "2"}, {topic: "t", payload: "3", partition: 9}, {topic: "t"}], nil, false)
    assert_equal [-190, 1], [code, deliveries.taken]
    assert deliveries.wait(nil, 20)
    assert_raises(IndexError) { deliveries.outcome(1) }
  end

  def test_a_full_queue_takes_the_rest_later
    client = connect("queue.buffering.max.messages": 10, "linger.ms": 50)
    messages = Array.new(100) { |number| {topic: "t", payload: number.to_s, partition: 0} }
    deliveries, code = client.hand_over(messages, nil, false)
    assert_equal [-184, 10], [code, deliveries.taken]
    until code.zero?
      sleep(0.01)
      deliveries, code = client.hand_over(messages, deliveries, false)
    end
    assert deliveries.wait(nil, 20)
    assert_equal (0...100).to_a, Array.new(100) { |index| deliveries.outcome(index).last }
  ensure
    client&.close(Clock.now + 5)
  end

  def test_messages_that_nobody_awaits_are_told_of
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 300}) { |event| @told << event }
    quiet = hand_over({topic: "a", payload: "1"}, awaited: true, client:)
    loud = hand_over({topic: "b", payload: "2"}, client:)
    assert quiet.wait(nil, 20) && loud.wait(nil, 20)
    assert_equal [-192, -192], [quiet, loud].map { |deliveries| deliveries.outcome(0).first }
    told = []
    eventually { (told << @told.pop).last.first == :undelivered }
    assert_equal [:undelivered, -192, "b", -1], told.last
  ensure
    client&.close(Clock.now + 1)
  end

  def test_closing_drops_what_cannot_be_delivered
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1"}) { |event| @told << event }
    deliveries = hand_over({topic: "t", payload: "1"}, awaited: true, client:)
    refute client.close(Clock.now + 0.7)
    assert deliveries.wait(0, 0)
    assert_includes [-152, -151], deliveries.outcome(0).first
    assert_raises(IOError) { client.hand_over([{topic: "t"}], nil, false) }
    assert_raises(Rdkafka::ClosedInnerError) { client.queue_size }
    assert client.close(Clock.now + 1)
  end

  def test_a_thread_that_waits_can_be_ended
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1"}) { |event| @told << event }
    deliveries = hand_over({topic: "t", payload: "1"}, client:)
    thread = Thread.new { deliveries.wait(nil, 600) }
    eventually { thread.status == "sleep" }
    assert thread.kill.join(20)
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { deliveries.wait(0, 600) } }
    refute deliveries.wait(0, 0.05)
  ensure
    client&.close(Clock.now + 1)
  end

  def test_many_threads
    threads = Array.new(8) do |number|
      Thread.new do
        50.times.sum { |round| hand_over(*Array.new(20) { {topic: "t", payload: "#{number}/#{round}", key: round.to_s} }).tap { it.wait(nil, 30) }.taken }
      end
    end
    assert_equal [1000] * 8, threads.map(&:value)
    assert @client.flush(Clock.now + 20) # reports count until the thread that takes them is through with all of an event
    assert_equal 0, @client.queue_size
  end

  # A child has the memory, but not the threads.
  def test_a_child_does_not_wait_for_what_its_parent_has_produced
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1"}) { |event| @told << event }
    deliveries = hand_over({topic: "t", payload: "1"}, client:)
    skip unless Process.respond_to?(:fork) && RUBY_VERSION >= "4"
    pid = fork do
      GC.start
      exit!(deliveries.wait(nil, 600) == false)
    end
    assert_predicate Process.wait2(pid).last, :success?
  ensure
    client&.close(Clock.now + 1)
  end

  def test_nothing_is_lost_or_leaks_when_objects_are_collected
    GC.stress = true
    hand_over({topic: "t", payload: "1", partition: 0, headers: {one: 1, "two" => [2, nil]}})
    GC.stress = false
    2_000.times { @client.hand_over([{topic: "t", payload: "x", partition: 0}], nil, false) }
    GC.start
    assert @client.flush(Clock.now + 30)
    GC.start
    assert_operator ObjectSpace.each_object(Kafka::Producing::Sender::Deliveries).count, :<, 100
  ensure
    GC.stress = false
  end
end
