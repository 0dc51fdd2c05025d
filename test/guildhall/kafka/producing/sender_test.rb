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
    [{topic: "t", partition: "0"}] => /partition must be a number of a partition or nil, not a String/,
    [{topic: "t", partition: 2**31}] => /partition must be .*, not 2147483648/,
    [{topic: "t", partition: 2**80}] => /partition must be .*, not 1208925819614629174706176/,
    [{topic: "t", partition: 10**1000}] => /partition must be .*, not a number of 1001 digits/,
    [{topic: "t", partition: -2}] => /partition must be .*, not -2/,
    [{topic: "t", timestamp: 1.5}] => /timestamp must be milliseconds since 1970, a Time from then on, or nil, not a Float/,
    [{topic: "t", timestamp: -1}] => /timestamp must be .*, not -1/,
    [{topic: "t", timestamp: 2**70}] => /timestamp must be .*, not 1180591620717411303424/,
    [{topic: "t", timestamp: Time.at(-1).utc}] => /timestamp must be .*, not 1969-12-31/,
    [{topic: "t", timestamp: Time.at(10**30).utc}] => /timestamp must be .*, not /,
    [{topic: "t", headers: [1]}] => /headers must be a Hash, or nil, not an Array/,
    [{topic: "t", headers: {1 => "1"}}] => /a header's name must be a String or Symbol without NUL, not an Integer/,
    [{topic: "t", headers: {"a\0" => "1"}}] => /a header's name must be a String or Symbol without NUL/,
    [{topic: "t", headers: {"a" => Object.new}}] => /header a must be a String, .* or an Array of these, not an Object/,
    [{topic: "t", headers: {"a" => ["1", ["2"]]}}] => /header a must be .*, not an Array/,
    [{topic: "t", headers: {"a" => {}}}] => /header a must be .*, not a Hash/
  }.freeze

  # In the middle of a batch as well: nothing is sent before all has been looked at.
  def test_what_is_no_message_is_refused_and_says_why
    BAD.each do |messages, text|
      [messages, [{topic: "t", payload: "1"}, *messages]].each do |batch|
        error = assert_raises(Guildhall::ArgumentError, messages.inspect) { @client.hand_over(batch, nil, false) }
        assert_match text, error.message
      end
    end
    assert_equal 0, @client.queue_size
  end

  def test_what_ruby_checks_and_what_c_checks_is_the_same
    good = [{partition: -1}, {partition: nil}, {partition: 1}, {timestamp: 0}, {timestamp: Time.at(0)}, {timestamp: Time.now},
            {headers: {"a" => [1, 1.5, 2**80, :s, nil, true, false], b: []}}, {key: "k".encode("UTF-16LE")}, {topic: :t}]
    good.each do |fields|
      message = {topic: "t", **fields}
      Kafka::Producing::Sender.check!(message)
      assert_equal 0, @client.hand_over([message], nil, false).last, message.inspect
    end
    BAD.each_key { |messages| assert_raises(Guildhall::ArgumentError) { Kafka::Producing::Sender.check!(messages.last) } }
  end

  def test_of_many_messages_none_is_sent_where_one_is_none
    assert_raises(Guildhall::ArgumentError) { @client.hand_over([{topic: "t", payload: "1"}, {topic: "t", payload: 2}], nil, false) }
    assert_equal 0, @client.queue_size
  end

  # As those of Rails, which are none of Ruby's class.
  class TimeLike
    def initialize(&made) = @made = made
    def is_a?(klass) = klass == Time || super
    def to_time = @made.call
    def to_i = to_time.to_i
  end

  def test_a_time_of_another_class
    hand_over({topic: "t", payload: "1", partition: 0, timestamp: TimeLike.new { Time.at(1_700_000_000, 123, :millisecond) }}).wait(nil, 20)
    assert_equal 1_700_000_000_123, (read(1).first.timestamp.to_r * 1000).to_i
    assert_raises(Guildhall::ArgumentError) { hand_over({topic: "t", timestamp: TimeLike.new { Object.new }}) }
  end

  # Short Strings lie where a compaction moves them.
  def test_objects_that_move_while_messages_are_handed_over
    GC.auto_compact = true
    sent = Array.new(2) do |number|
      headers = (0...3).to_h { |index| ["h#{index}", "v#{number}-#{index}"] }
      {topic: "t", payload: "p#{number}", key: "k#{number}", partition: 0, headers: {**headers, "many" => ["a#{number}", number, nil]}}
    end
    GC.stress = true
    deliveries, = @client.hand_over(sent, nil, false)
    GC.stress = false
    assert deliveries.wait(nil, 20)
    expected = sent.map { |message| [message[:payload], message[:key], {**message[:headers], "many" => message[:headers]["many"].map { it&.to_s }}] }
    assert_equal(expected, read(2).map { |message| [message.payload, message.key, message.headers] })
  ensure
    GC.stress = false
    GC.auto_compact = false
  end

  # @yield the second time that it is asked, which is amid a batch
  def mean_time
    asked = 0
    TimeLike.new do
      yield if (asked += 1) > 1
      Time.now
    end
  end

  def test_a_client_that_is_closed_amid_a_batch
    client = connect
    closing = mean_time { client.close(Guildhall::Clock.now + 5) }
    deliveries, code = client.hand_over([{topic: "t", payload: "1", partition: 0}, {topic: "t", timestamp: closing}], nil, false)
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

  def test_what_happens_after_its_listener_was_given_up_is_told_nobody
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1"}) { |event| @told << event }
    client.instance_variable_get(:@events).close
    assert_nil client.send(:tell, [[:undelivered, -192, "t", 0]])
  ensure
    client&.close(Clock.now + 1)
  end

  def test_a_thread_that_waits_can_be_ended
    client = Kafka::Producing::Client.new({"bootstrap.servers": "127.0.0.1:1"}) { |event| @told << event }
    deliveries = hand_over({topic: "t", payload: "1"}, client:)
    thread = Thread.new { deliveries.wait(nil, 600) }
    eventually { thread.status == "sleep" }
    assert thread.kill.join(60)
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
      exit!(deliveries.wait(nil, 600).nil?)
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
