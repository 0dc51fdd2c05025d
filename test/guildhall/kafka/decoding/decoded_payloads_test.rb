# frozen_string_literal: true

require "test_helper"
require "support/kafka_records"
require "guildhall/kafka"
require "guildhall/json"

class KafkaDecodedPayloadsTest < GuildhallTest
  include KafkaRecords

  # Counts what it decodes; fails a given number of times.
  class Counting
    attr_reader :calls

    def initialize(failures = 0)
      @calls = 0
      @failures = failures
    end

    def call(bytes)
      @calls += 1
      raise IOError, "not yet" if @calls <= @failures

      bytes.upcase unless bytes == "nothing"
    end
  end

  # Ends the thread that decodes "p1" or "p3".
  class Deadly
    def call(bytes)
      %w[p1 p3].include?(bytes) ? Thread.exit : bytes
    end
  end

  # Says where it was called; fails in workers.
  module FailsInWorkers
    def self.call(bytes)
      raise ::ArgumentError, "no #{bytes} here" unless Ractor.main?

      bytes.upcase
    end
  end

  # Another thread asks for a payload while the Documents are made.
  class ReadMeanwhile < PlainRecord
    singleton_class.attr_accessor :reading

    def self.documents(records)
      meanwhile = reading
      self.reading = nil
      meanwhile&.call
      super
    end
  end

  # The first thread that asks for the value is killed meanwhile.
  class KilledMeanwhile < PlainRecord
    KILLS = Thread::Queue.new

    def deferred? = false
    def document = KILLS.empty? ? [1].freeze : KILLS.pop && Thread.current.kill
  end

  STAGES = Guildhall::JSON.lazy >> Guildhall.map { |doc| doc["a"] }

  def test_nothing_is_decoded_before_it_is_asked_for_and_then_once
    counting = Counting.new
    payloads = decoding { deserializer(counting) && deserializing(lazy: :on_access) }.begin(records("a", "nothing", nil), :source)
    assert_equal 0, counting.calls
    2.times { assert_equal ["A", nil, nil], Array.new(3) { |index| payloads[index] } }
    assert_equal 2, counting.calls, "nil is a payload, too; a tombstone has none"
  end

  def test_two_threads_that_ask_first_at_once_decode_once
    counting = Counting.new
    payloads = decoding { deserializer(counting) && deserializing(lazy: :on_access) }.begin([ReadMeanwhile.new(**records("a").first.to_h)], :source, true)
    ReadMeanwhile.reading = -> { Thread.new { payloads[0] }.join }
    assert_equal ["A", 1], [payloads[0], counting.calls]
  end

  def test_what_failed_is_decoded_again_before_another_attempt_and_nothing_else
    counting = Counting.new(1)
    payloads = decoding { deserializer(counting) && deserializing(parallel: false) }.begin(records("a", "b"), :source)
    payloads.wait
    assert_equal %w[IOError B], [payloads[0].error_class, payloads[1]]
    payloads.again
    assert_equal ["A", "B", 3], [payloads[0], payloads[1], counting.calls]
  end

  def test_what_failed_in_a_worker_is_decoded_again_by_the_thread_that_asks
    with_pool do |pool|
      payloads = decoding(pool) { deserializer(FailsInWorkers) && deserializing(parallel: true) }.begin(records("a", nil, "b"), :source)
      payloads.wait
      assert_equal ["ArgumentError", nil, "no b here"], [payloads[0].error_class, payloads[1], payloads[2].message]
      payloads.again
      assert_equal ["A", nil, "B"], Array.new(3) { |index| payloads[index] }
    end
  end

  def test_a_payload_that_ends_its_readers_thread_ends_no_other
    deadly = Deadly.new.freeze
    with_pool(workers: 0) do |pool|
      [decoding { deserializer(deadly) && deserializing(lazy: :on_access) }, decoding(pool) { deserializer(deadly) }].each do |way|
        payloads = way.begin(records(*%w[p0 p1 p2 p3 p4]), :source)
        outcomes = nil
        lives = (1..10).find { (outcomes = Thread.new { Array.new(5) { |index| payloads[index] } }.value) || payloads.again && nil }
        assert_operator lives, :<=, 4
        assert_equal %w[p0 p2 p4], outcomes.grep(String)
        assert_equal [Guildhall::WorkerDiedError.name] * 2, outcomes.values_at(1, 3).map(&:error_class)
      end
    end
  end

  # The reader's decoder ends none: somebody else has.
  def test_a_thread_that_is_killed_says_nothing_about_the_payload_that_the_reader_has_parsed
    payloads = decoding { deserializer Guildhall::JSON }.begin([KilledMeanwhile.new(**records("[1]").first.to_h)], :source, true)
    KilledMeanwhile::KILLS << true
    assert_nil Thread.new { payloads[0] }.value
    assert_equal [1], payloads[0]
  end

  def test_without_a_deserializer_the_payload_is_the_bytes
    payloads = decoding.begin(records("a", nil), :source)
    assert_equal ["a", nil], [payloads[0], payloads[1]]
  end

  def test_what_the_reader_has_left_is_decoded_by_the_whole_deserializer
    lazy = decoding { deserializer Guildhall::JSON.lazy }.begin(records('{"a": 1}', "{", "null"), :source, true)
    piped = decoding { deserializer(STAGES) && deserializing(parallel: false) }.begin(records('{"a": 1}', "{"), :source, true)
    assert_equal [1, 1, nil], [lazy[0]["a"], piped[0], lazy[2]]
    assert_equal [[nil, "Guildhall::JSON::ParseError"], [:decode, "Guildhall::JSON::ParseError"]],
      [lazy[1], piped[1]].map { |failure| [failure.stage, failure.error_class] }
  end
end
