# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/encryption"
require "guildhall/json"
require "guildhall/msgpack"

class KafkaSearchTest < GuildhallTest
  PARTITIONS = 3
  COUNT = 300
  ENCRYPTION = Guildhall::Encryption.new({"1" => "k" * 32})
  NEGATIVE = Guildhall.select { |order| order["n"].negative? }
  SAME = Guildhall.map { |order| order }
  UPCASE = Ractor.make_shareable(Class.new { def call(bytes) = {"text" => bytes.upcase} }.new)

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: PARTITIONS)
    @application = application
    @producer = @application.producer
  end

  def teardown
    @application.stop(timeout: 5)
    @application.send(:close_own_pool, 5)
    @broker.stop
  end

  def application
    Guildhall::Kafka::Application.new.tap do |application|
      application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
      application.config.logger = nil
      application.config.max_messages = 40
    end
  end

  def produce(count = COUNT)
    @producer.produce_many_sync(Array.new(count) { |i| {topic: "t", partition: i % PARTITIONS, **yield(i)} })
  end

  # Numbers: i; names that hold characters and escapes; each tenth message is no JSON.
  def orders
    produce do |i|
      {payload: (i % 10) == 9 ? "{broken #{i}" : %({"n":#{i},"name":"#{i.odd? ? "n-#{i}" : "n\\u002d#{i}"}"}), key: "key #{i % 7}",
       headers: {"odd" => i.odd?.to_s, "all" => %w[x y]}}
    end
  end

  def search(topic = "t", **) = @application.search(topic, **)

  # @return [Array(Array<Integer>, Progress)] which messages, numbered as produced; and how much was searched
  def found(**)
    numbers = []
    progress = search(**).run { |found| numbers << ((found.record.offset * PARTITIONS) + found.record.partition) }
    [numbers, progress]
  end

  LAZY = {deserializer: Guildhall::JSON}.freeze

  def test_by_a_condition
    orders
    numbers, progress = found(where: "$.n > 250 && $.n < 260", **LAZY)
    assert_equal [*251..258], numbers.sort
    assert_equal [8, 30, COUNT, true, nil, {}], [progress.found, progress.undecodable, progress.messages, progress.done?, progress.stopped_by, progress.rest]
    assert_equal [100] * 3, progress.places.map(&:messages)
    assert_operator progress.bytes, :>, COUNT * 20
    assert_equal [[], 0], [found(where: "$.none", **LAZY).first, found(where: "$.none", **LAZY).last.found]
  end

  # Also where one of them is written with an escape.
  def test_by_a_string
    orders
    assert_equal [[250], [251]], [250, 251].map { |i| found(where: "$.name == 'n-#{i}'", **LAZY).first }
  end

  def test_what_cannot_be_decoded_is_counted_and_found_if_asked
    orders
    failures = []
    progress = search(where: "$.n == 4", undecodable: true, **LAZY).run { |found| failures << found.failure&.exception }
    assert_equal [30, 1, 31], [progress.undecodable, failures.count(nil), progress.found]
    assert_equal [Guildhall::JSON::ParseError], failures.compact.map(&:class).uniq
    assert_equal COUNT, found(**LAZY).last.found
    assert_equal [30, 30], found(undecodable: true, where: "$.none", **LAZY).last.then { |one| [one.found, one.undecodable] }
  end

  def test_by_header
    orders
    assert_equal COUNT / 2, found(headers: {"odd" => "true"}).last.found
    assert_equal COUNT, found(headers: {"odd" => nil, "all" => "y"}).last.found
    assert_equal 0, found(headers: {"none" => nil}).last.found
    assert_equal [[5], 0], found(headers: {"odd" => "true"}, where: "$.n == 5", **LAZY).then { |numbers, progress| [numbers, progress.undecodable - 30] }
  end

  def test_by_key_only_its_partition_is_read
    keys = ["a", "ü" * 9, "b\xFF".b]
    @producer.produce_many_sync(keys.flat_map { |key| Array.new(5) { {topic: "t", key:, payload: "x"} } })
    keys.each do |key|
      progress = search(key:).run
      assert_equal [1, 5], [progress.places.size, progress.found], key
    end
    assert_equal [3, 5], search(key: "a", all_partitions: true).run.then { |progress| [progress.places.size, progress.found] }
    @producer.produce_many_sync(Array.new(5) { {topic: "t", key: "", payload: "x"} })
    assert_equal [3, 5], search(key: "").run.then { |progress| [progress.places.size, progress.found] }
    assert_equal [2, 20], search(partitions: [0, 1, 2]).run.then { |progress| [progress.places.size - 1, progress.messages] }
  end

  def test_it_ends_at_the_limit_and_can_be_continued
    orders
    first, progress = found(where: "$.n > 100", limit: 10, **LAZY)
    assert_equal [10, :limit, false], [first.size, progress.stopped_by, progress.done?]
    rest, progress = found(where: "$.n > 100", from: progress.rest, **LAZY)
    assert_equal (101...COUNT).reject { |i| i % 10 == 9 }, (first + rest).sort
    assert_predicate progress, :done?
  end

  def test_bounds
    orders
    {messages: 50, bytes: 2_000, seconds: 1e-9}.each do |name, bound|
      progress = search(where: "$.none", **LAZY, name => bound).run
      assert_equal [name, false], [progress.stopped_by, progress.done?]
      assert_operator progress.messages, :<, 200
    end
  end

  def test_it_can_be_stopped_while_it_waits_and_left_early
    orders
    searching = search(where: "$.n == 299", until: nil, deserializer: Guildhall::JSON)
    thread = Thread.new { searching.run }
    eventually { searching.progress.messages == COUNT }
    searching.stop
    assert_equal [:stop, {0 => 100, 1 => 100, 2 => 100}], thread.value.then { |progress| [progress.stopped_by, progress.rest] }
    searching = search(partitions: 1)
    assert_equal 0, searching.run { |found| break found.record.offset }
    assert_equal({1 => 1}, searching.progress.rest)
  end

  def test_from_until_and_offsets_by_partition
    orders
    assert_equal [30, 30], found(from: -10).last.then { |one| [one.messages, one.found] }
    assert_equal 9, found(from: 5, until: 8).last.messages
    assert_equal 3 * 90, found(from: 10, until: 5_000).last.messages
    assert_equal({0 => [1, 99], 2 => [4, 96]}, found(from: {0 => 1, 2 => 4}).last.places.to_h { |place| [place.number, [place.from, place.messages]] })
    assert_equal 0, found(from: 500).last.messages
    error = assert_raises(Guildhall::ArgumentError) { found(from: {7 => 1}) }
    assert_includes error.message, "the partitions 0 to 2, not 7"
    assert_raises(Guildhall::ArgumentError) { found(from: {}) }
  end

  # As the route says: decrypted and decoded, without the stages that follow.
  def test_pipelines_are_run_up_to_their_decoding
    writing = Guildhall.encode(Guildhall::JSON) >> ENCRYPTION.encrypt
    produce(30) { |i| {payload: writing.call({"n" => i})} }
    selecting = ENCRYPTION.decrypt >> Guildhall::JSON >> NEGATIVE
    values = []
    progress = search(where: "$.n >= 28", deserializer: selecting).run { |found| values << found.payload["n"] }
    assert_equal [[28, 29], 30, 0], [values.sort, progress.messages, progress.undecodable]
    lazy = Guildhall::Kafka::Broker::Search.decoding_part(Guildhall::JSON >> SAME)
    assert_equal Guildhall::JSON.lazy, lazy
  end

  def test_other_codecs_and_callables
    produce(6) { |i| {payload: i < 3 ? Guildhall::MessagePack.encode({"n" => i}) : "text #{i}"} }
    assert_equal [[2], 0], found(where: "$.n == 2", deserializer: Guildhall::MessagePack, until: 1).then { |numbers, progress| [numbers, progress.undecodable] }
    assert_equal [4], found(where: "$.text == 'TEXT 4'", deserializer: UPCASE, from: 1).first
    search(from: 1, deserializer: UPCASE).run { |one| assert_equal one.record.raw_payload.upcase, one.payload["text"] }
    search(from: 1, deserializer: UPCASE, decode: false).run { |one| assert_nil one.payload }
  end

  def test_tombstones_and_missing_topics
    produce(3) { |i| {payload: nil, key: i.to_s} }
    assert_equal [3, 0], found(where: "!$.a", **LAZY).last.then { |one| [one.found, one.undecodable] }
    assert_raises(Guildhall::Kafka::UnknownTopicError) { search("none").run }
    assert_raises(Guildhall::ArgumentError) { search(where: "n > 5") }
    assert_raises(Guildhall::ArgumentError) { search(limit: 0) }
  end

  def test_an_outage_is_no_undecodable_message
    produce(3) { |i| {payload: i.to_s} }
    unreachable = ->(_bytes) { raise Errno::ECONNREFUSED }
    assert_raises(Errno::ECONNREFUSED) { search(where: "$.a", deserializer: unreachable).run }
  end
end
