# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/decoder_probe"
require "support/fake_librdkafka"
require "support/ffi_reader"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/json"
require "guildhall/avro"
require "guildhall/msgpack"
require "bigdecimal"

# What both readers promise; each on the embedded broker.
module ReaderBehaviour
  # Opens what is assigned, as a listener does.
  class Assignments
    attr_reader :queues
    attr_accessor :reader

    def initialize(codec, limit, pause)
      @codec = codec
      @limit = limit
      @pause = pause
      @queues = {}
    end

    def partitions_assigned(pairs)
      sleep(@pause)
      pairs.each { |topic, number| (@queues[number] = @reader.open(topic, number, number, @codec)).allow(@limit, 2_000_000) }
    end

    def partitions_revoked(pairs, lost:)
      pairs.map(&:last).each { |number| @queues.delete(number)&.close }
    end
  end

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    @broker.create_topic("t", partitions: 2)
  end

  def teardown
    @reader&.close
    @client&.close
    @broker.stop
  end

  def produce(messages)
    producer = Rdkafka::Config.new("bootstrap.servers": @broker.bootstrap_servers).producer
    messages.map { |message| producer.produce(topic: "t", partition: 0, **message) }.each(&:wait)
  ensure
    producer.close
  end

  def connect
    join
    eventually { take(50).empty? && @assignments.queues.size == 2 }
  end

  # Messages may come from now on.
  # @param limit [Integer] messages that may be taken of each partition
  # @param pause [Numeric] seconds before what was assigned is opened
  def join(codec = nil, limit: 1_000, pause: 0)
    @assignments = Assignments.new(codec, limit, pause)
    settings = {"bootstrap.servers": @broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest",
                "enable.auto.offset.store": false}
    @client = Guildhall::Kafka::Group::Client.new(settings, @assignments)
    @reader = @assignments.reader = open_reader(@client)
    @client.subscribe(["t"])
  end

  def take(timeout_ms = 100, *room)
    batches, errors = @client.with_handle { @reader.take(timeout_ms, *room) }
    assert_empty errors
    batches.each { |_, records, bytes, _| assert_equal records.sum(&:size), bytes }
    @decoded = batches.map { |_, _, _, decoded| decoded }
    batches.flat_map { |_, records| records }
  end

  # They may come in several takes.
  def take_all(count)
    records = []
    eventually do
      records.concat(take)
      records.size >= count
    end
    records
  end

  def test_records_hold_bytes_key_headers_and_time
    connect
    produce([{payload: "\xFF\x00".b, key: "schlüssel", headers: {"a" => "1", "b" => %w[2 3]}}, {payload: nil, key: nil}, {payload: ""}])
    first, second, third = take_all(3)
    assert_equal ["\xFF\x00".b, "schlüssel", {"a" => "1", "b" => %w[2 3]}, "t", 0, 0],
      [first.raw_payload, first.key, first.headers, first.topic, first.partition, first.offset]
    assert_in_delta Time.now, first.timestamp, 60
    assert_equal [nil, nil, {}, true], [second.raw_payload, second.key, second.headers, second.tombstone?]
    assert_equal ["", false], [third.raw_payload, third.tombstone?]
    assert_equal [2, 0, 0], [first, second, third].map(&:size)
    assert_equal 2, first.class.bytes([first, second, third])
    assert_equal [[first], [first], [], []],
      [["a", 3], ["b", 1], ["b", 0], ["c", 3]].map { |name, limit| first.class.with_header([first, second, third], name, limit) }
    [first, second, third].each { |record| assert Ractor.shareable?(record) }
    [first.raw_payload, first.key, first.headers].each { |part| assert Ractor.shareable?(part) }
    assert_equal [nil] * 3, [first, second, third].map { |record| record.respond_to?(:document) ? record.document : nil }
  end

  def test_no_more_is_taken_than_allowed_and_the_rest_later
    connect
    @assignments.queues[0].allow(3, 1_000)
    produce((0...10).map { |i| {payload: i.to_s} })
    assert_equal [0, 1, 2], take_all(3).map(&:offset)
    assert_empty take(200)
    @assignments.queues[0].allow(100, 1_000)
    assert_equal (3...10).to_a, take_all(7).map(&:offset)
  end

  # What is fetched first, too, however slow the listener is: a partition is fetched once its queue is its own.
  def test_no_more_is_taken_than_allowed_from_the_first_message_on
    produce((0...50).map { |i| {payload: i.to_s} })
    join(limit: 3, pause: 0.5)
    taken = 0
    3.times { taken += take(200).size }
    assert_operator taken, :<=, 3
    @assignments.queues[0].allow(100, 1_000)
    assert_equal 50, taken + take_all(50 - taken).size
  end

  def test_what_is_taken_at_once_is_bounded_by_its_bytes_as_well
    connect
    @assignments.queues[0].allow(0, 2_000_000)
    produce(Array.new(16) { {payload: "x" * 250_000} })
    assert_empty take(1_000) # all of it is fetched meanwhile
    @assignments.queues[0].allow(100, 2_000_000)
    first = take
    assert_operator first.size, :<=, 10
    assert_equal (0...16).to_a, (first + take_all(16 - first.size)).map(&:offset)
  end

  def test_wake_ends_a_take_that_waits
    connect
    waker = Thread.new do
      sleep(0.05)
      @reader.wake
    end
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_empty take(20_000)
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 10
    waker.join
  end

  def test_an_exception_ends_a_take_and_loses_nothing
    connect
    3.times do |round|
      thread = Thread.new { take(20_000) }
      thread.report_on_exception = false
      eventually { thread.status == "sleep" }
      thread.raise(Interrupt)
      assert_raises(Interrupt) { thread.join(10) || flunk("take was not interrupted") }
      produce([{payload: round.to_s}])
      assert_equal [round], take_all(1).map(&:offset)
    end
  end

  # Such as a Timeout around code that allows it only where something blocks.
  def test_an_exception_that_was_put_off_until_something_blocks_ends_a_take
    connect
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(Interrupt => :on_blocking) do
        Thread.current.raise(Interrupt)
        take(20_000)
      end
    end
    assert_raises(Interrupt) { thread.join(10) || flunk("take was not interrupted") }
    produce([{payload: "a"}])
    assert_equal [0], take_all(1).map(&:offset)
  end

  # As when all partitions are given up and some of them are assigned again.
  def test_a_take_that_waits_is_ended_by_a_message_of_a_queue_that_was_opened_again
    connect
    @assignments.partitions_revoked([["t", 0]], lost: false)
    @assignments.partitions_assigned([["t", 0]])
    assert_empty take(200)
    producing = Thread.new { produce([{payload: "a"}]) }
    records = Timeout.timeout(20) { take(600_000) }
    assert_equal [0], records.map(&:offset)
    producing.join
  end

  def test_all_partitions_together_are_given_no_more_than_there_is_room_for
    connect
    produce((0...60).map { |i| {payload: "x" * 100, partition: i % 2} })
    eventually { @client.end_offset("t", 0) == 30 && @client.end_offset("t", 1) == 30 }
    assert_empty take(200, 0, 1_000)
    assert_empty take(200, 10, 0)
    @assignments.queues.each_value { |queue| queue.allow(10, 100) }
    first = take(2_000, 1, 1_000_000).map(&:partition).uniq
    second = take(2_000, 1_000, 1).map(&:partition).uniq
    assert_equal [1, 1, [0, 1]], [first.size, second.size, (first + second).sort], "one at a time, in turn"
  end

  def test_nothing_is_handed_out_after_a_queue_was_closed
    connect
    produce([{payload: "a"}])
    @assignments.queues[0].close
    assert_empty take(300)
  end
end

class KafkaNativeReaderTest < GuildhallTest
  include ReaderBehaviour

  def open_reader(client) = Guildhall::Kafka::Reading::Reader.for(client)

  def test_payloads_are_decoded_while_they_are_read
    produce([{payload: '{"a": [1, 2]}'}, {payload: "{"}, {payload: nil}, {payload: "null"}])
    join(Guildhall::JSON.lazy)
    good, bad, tombstone, null = take_all(4)
    assert_equal [1, 2], good.document["a"].to_a
    assert_nil good.decode_error
    assert_instance_of Guildhall::JSON::ParseError, bad.decode_error
    assert_nil bad.document
    assert_equal [nil, nil], [tombstone.document, tombstone.decode_error]
    assert_equal [good.document, nil, nil, nil], good.class.documents([good, bad, tombstone, null])
    assert_same good.document, good.document
    assert_equal [nil, nil], [null.document, null.decode_error]
  end

  def test_the_time_in_a_row_is_shareable
    produce([{payload: "{}"}])
    join(Guildhall::JSON.lazy)
    records = take_all(1)
    time, = records.first.class.rows(records, [0], Guildhall::Columns.new(:timestamp), true, left = [])
    assert_equal [[records.first.timestamp], [], true], [[time], left, Ractor.shareable?(time)]
  end

  def test_documents_outlive_records_and_survive_compaction
    produce((0...200).map { |i| {payload: %({"i": #{i}, "text": "#{"x" * i}"})} })
    join(Guildhall::JSON.lazy)
    documents = take_all(200).map(&:document)
    GC.start
    GC.compact if GC.respond_to?(:compact)
    documents.each_with_index { |document, i| assert_equal [i, "x" * i], [document["i"], document["text"]] }
  end

  def test_records_can_be_read_in_another_ractor
    produce([{payload: '{"a": 1}', key: "k"}])
    join(Guildhall::JSON.lazy)
    record, = take_all(1)
    reading = Ractor.new(record) { |one| [one.key, one.raw_payload, one.document["a"], one.offset].freeze }
    assert_equal ["k", '{"a": 1}', 1, 0], ractor_value(reading)
  end

  def test_a_closed_reader_says_so
    connect
    @reader.close
    assert_raises(IOError) { @reader.take(1) }
    @reader.close
  end

  def test_records_cannot_be_made_or_copied_by_hand
    connect
    produce([{payload: "a"}])
    record, = take_all(1)
    assert_raises(NoMethodError) { Guildhall::Kafka::Record.new }
    assert_raises(NoMethodError) { record.dup }
  end
end

# What no broker can be brought to do.
class KafkaReaderFailuresTest < GuildhallTest
  include DecoderProbeExtension
  include FakeLibrdkafka::Tested

  PRICE = Guildhall::Avro.new({type: "bytes", logicalType: "decimal", precision: 4, scale: 2})

  # Ends whatever thread calls it.
  module Unpack
    CALLS = Thread::Queue.new

    def self.call(payload)
      CALLS << payload
      Thread.exit
    end
  end

  TYPES = [Guildhall::MessagePack::ExtensionType.new(5, for: Comparable, pack: :itself.to_proc, unpack: Unpack)].freeze

  def take
    batches, = @reader.take(100)
    batches.flat_map { |_, records, _, decoded| records.zip(decoded ? records.first.class.documents(records) : []) }
  end

  def test_what_has_no_document_is_left_to_the_thread_that_asks_for_it
    @reader = @kafka.reader(PRICE.lazy)
    [PRICE.encode(BigDecimal("1.25")), "\x00"].each { |payload| @kafka.push(payload) }
    taken = take
    assert_equal [[0, nil, true], [1, nil, true]], taken.map { |record, document| [record.offset, document, record.deferred?] }
    taken.each { |record,| assert_nil record.decode_error }
    assert_equal BigDecimal("1.25"), taken[0].first.decode(PRICE.lazy)
    assert_equal "".b, taken[1].first.decode(PRICE.lazy), "no bytes are no decimal"
  end

  # It might sleep, raise what ends the process, or exit its thread: the one that polls.
  def test_no_ruby_code_of_a_codecs_runs_while_messages_are_taken
    @reader = @kafka.reader(Guildhall::MessagePack.new(types: TYPES).lazy)
    good = Guildhall::MessagePack.encode({"id" => 1})
    [good, "\xd4\x05\x01".b, good].each { |payload| @kafka.push(payload) }
    taken = Timeout.timeout(10) { take }
    assert_equal [{"id" => 1}, nil, {"id" => 1}], taken.map { |_, document| document&.to_h }
    assert_empty Unpack::CALLS
    Thread.new { taken[1].first.decode(Guildhall::MessagePack.new(types: TYPES).lazy) }.join
    assert_equal "\x01".b, Unpack::CALLS.pop(timeout: 0)
  end

  # Messages that a literal is looked for in: each that lacks it, and is JSON without a backslash, is passed over.
  def test_messages_are_passed_over
    @reader = @kafka.reader(Guildhall::JSON.lazy, "needle", 8)
    [%({"a":"a needle"}), %({"a":1}), %({"a":"n\\u0065edle"}), "{broken", %({"needle":2}), %({"a":[]}), "7", %({"b":"needl"}), %({"after":1})]
      .each { |payload| @kafka.push(payload) }
    batches, = @reader.take(100)
    _, records, bytes, decoded, passed = batches.first
    assert decoded
    assert_equal [0, 2, 3, 4, 6, 8], records.map(&:offset)
    assert_equal [records.sum(&:size), [3, 7 + 8 + 13, 8]], [bytes, passed]
    assert_equal [{"a" => "a needle"}, {"a" => "needle"}, nil, {"needle" => 2}, nil, {"after" => 1}], records.map { |record| record.document&.to_h }
    @kafka.push(%({"b":"needle"}))
    assert_equal 4, @reader.take(100).first.first.size
  end

  def test_only_messages_that_are_passed_over
    @reader = @kafka.reader(Guildhall::JSON.lazy, "needle")
    3.times { |i| @kafka.push(%({"a":#{i}})) }
    _, records, bytes, decoded, passed = @reader.take(100).first.first
    assert_equal [[], 0, true, [3, 21, 3]], [records, bytes, decoded, passed]
    assert_empty @reader.take(10).first
  end

  # At each place, and of each length.
  def test_literals_are_found_wherever_they_are
    random = Random.new(4711)
    (1..40).each_with_index do |size, round|
      @reader&.close
      literal = "z#{Array.new(size - 1) { random.rand(2).zero? ? "a" : "z" }.join}"
      @reader = @kafka.reader(Guildhall::JSON.lazy, literal)
      payloads = Array.new(120) { |i| %(["#{"a" * (i % 60)}#{literal[0, i < 60 ? size : size - 1]}#{"az"[0, random.rand(3)]}"]) }
      payloads.each { |payload| @kafka.push(payload) }
      expected = payloads.each_index.select { |i| payloads[i].include?(literal) }
      assert_equal expected, @reader.take(100).first.first[1].map { |record| record.offset - (round * 120) }, literal
    end
  end

  # The group is joined again then, from the last commit on.
  def test_a_message_that_there_is_no_memory_for_is_an_error_and_nothing_behind_it_is_handed_over
    @reader = @kafka.reader
    @kafka.push("a")
    @kafka.push("b", FakeLibrdkafka::HUGE)
    @kafka.push("c")
    2.times { assert_match(/no memory/, assert_raises(RuntimeError) { take }.message) }
  end

  def test_a_reader_is_initialised_once_and_goes_on
    @reader = @kafka.reader
    assert_raises(RuntimeError) { @reader.send(:initialize, 1, Array.new(12, 0)) }
    @kafka.push("a")
    assert_equal([0], take.map { |record, _| record.offset })
  end

  # A codec whose native decoder is none of ours, and one that has none.
  def test_a_record_is_decoded_by_a_codec_and_not_by_an_address
    @reader = @kafka.reader
    @kafka.push('{"a": 1}')
    (record,), = take
    assert_equal 1, record.decode(Guildhall::JSON.lazy)["a"]
    assert_raises(TypeError) { record.decode(Guildhall::Text) }
    assert_raises(::ArgumentError) { record.decode(Guildhall::JSON.lazy, 4096) }
  end

  # With the Record, and by #decode.
  def test_what_a_decoder_has_made_is_freed_where_it_cannot_be_wrapped
    Dir.mktmpdir do |folder|
      build_decoder_probe(folder)
      require File.join(folder, "decoder_probe")
    end
    self.class.class_eval(UNWRAPPABLE) unless self.class.const_defined?(:Unwrappable)
    codec = self.class::Unwrappable.new.freeze
    @reader = @kafka.reader(codec)
    Thread.new { fail_to_wrap(codec) }.join # on a stack that is gone afterwards
    made, = DecoderProbe.counts
    assert_equal 2, made
    eventually do
      GC.start
      DecoderProbe.counts.uniq.size == 1
    end
  end

  CODECS_COLLECTED_FIRST = <<~RUBY
    require "guildhall/kafka"
    require "guildhall/kafka/native"
    $LOAD_PATH.unshift("test")
    require "support/fake_librdkafka"
    kafka = FakeLibrdkafka.new
    read = lambda do
      reader = kafka.reader(Guildhall::JSON.new(symbolize_names: true).lazy)
      20.times { |i| kafka.push(%({"id":\#{i}})) }
      abort unless reader.take(100).first.first[1].size == 20
      reader.close
    end
    50.times { Thread.new(&read).join } # on stacks that are gone afterwards
    2.times { GC.start }
  RUBY

  # A payload of which no Document was made is freed by then; freed memory is overwritten here.
  def test_a_codec_may_be_collected_before_the_records_that_it_has_decoded
    assert_ruby(CODECS_COLLECTED_FIRST, env: {"MALLOC_PERTURB_" => "165"})
  end

  # Its Documents are made when they are asked for: by several Ractors at once, each with its own, or the same.
  def test_ractors_that_ask_for_a_document_at_once_get_it
    @reader = @kafka.reader(Guildhall::JSON.lazy)
    200.times { |i| @kafka.push(%({"i": #{i}, "text": "#{"x" * i}"})) }
    records = Ractor.make_shareable(@reader.take(100).first.flat_map { |_, taken| taken })
    ractors = Array.new(4) do
      Ractor.new(records) { |all| all.map { |record| [record.document["i"], record.document["text"].size] }.freeze }
    end
    expected = Array.new(200) { |i| [i, i] }
    ractors.each { |ractor| assert_equal expected, ractor_value(ractor) }
    assert_equal expected, records.map { |record| [record.document["i"], record.document["text"].size] }
  end

  private

  def fail_to_wrap(codec)
    @kafka.push("a")
    _, (record,) = @reader.take(100).first.first
    2.times { assert_raises(NoMemoryError) { record.document } }
    assert_raises(NoMemoryError) { record.decode(codec) }
  end
end

class KafkaFFIReaderTest < GuildhallTest
  include ReaderBehaviour

  def open_reader(client) = client.with_handle { |handle| FFIReader.new(handle) }
end
