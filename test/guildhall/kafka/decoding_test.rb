# frozen_string_literal: true

require "bigdecimal"
require "test_helper"
require "support/kafka_records"
require "guildhall/kafka"
require "guildhall/json"
require "guildhall/msgpack"

class KafkaDecodingTest < GuildhallTest
  include KafkaRecords

  # Notes how batches are dispatched.
  class NotingPool
    attr_reader :asked

    def dispatch(payloads, _task, **options)
      (@asked ||= []) << [payloads.size, options[:parallel]] unless payloads.empty?
      nil
    end
  end

  # Refuses whatever is to be done.
  class FullPool
    def dispatch(payloads, _task, **)
      raise Guildhall::PoolSaturatedError, "full" if payloads.any?
    end
  end

  # Needs something that only the main Ractor can fetch.
  class NeedsPreparing
    include Guildhall::Codec

    CALLS = Thread::Queue.new

    def initialize(failing: false)
      @failing = failing
      freeze
    end

    def prepare(payloads)
      CALLS << [Thread.current, payloads]
      Thread.exit if @failing == :exit
      raise @failing, "out of reach" if @failing
    end

    def decode(bytes) = bytes.upcase.freeze
  end

  # Finds what it needs in headers, say.
  class NeedsMetadata < NeedsPreparing
    def prepare(payloads, metadata = nil)
      CALLS << [payloads, metadata]
    end
  end

  FIRST = Ractor.make_shareable(:upcase.to_proc)
  STAGES = Guildhall::JSON.lazy >> Guildhall.map { |doc| doc["a"] }

  def teardown
    NeedsPreparing::CALLS.clear
  end

  def test_one_place_for_each_route
    pool = NotingPool.new
    places = {
      none: decoding, in_reader: decoding { deserializer Guildhall::JSON.lazy },
      in_pool: decoding(pool) { deserializer FIRST }, on_access: decoding { deserializer(FIRST) && deserializing(parallel: false) }
    }
    assert_equal places.keys, places.values.map(&:place)
    assert_equal [nil, Guildhall::JSON.lazy, nil, nil], places.values.map(&:codec)
  end

  class OwnJSON < Guildhall::JSON
    def decode(bytes) = super.merge("own" => true)
  end

  def test_the_reader_parses_for_a_codec_that_makes_hashes
    [Guildhall::JSON, Guildhall::JSON.new(symbolize_names: true), Guildhall::MessagePack, Guildhall::MessagePack.new(max_bytes: 100)].each do |codec|
      made = decoding { deserializer codec }
      assert_equal [:in_reader, "reader (C), then consumer thread", codec.value_decoder],
        [made.place, made.to_s, made.codec.native_decoder]
    end
  end

  # Is ended by another thread while it makes the Hash.
  EndedRecord = Data.define(:ended) do
    def tombstone? = false
    def deferred? = false
    def decode_error = nil

    def document
      return {"a" => 1}.freeze unless ended.empty?

      ended << true
      Thread.exit
    end
  end

  def test_a_thread_that_is_ended_while_it_makes_a_hash_says_nothing_about_the_payload
    payloads = decoding { deserializer Guildhall::JSON }.begin([EndedRecord.new([])], :source, true)
    Thread.new { payloads[0] }.join
    assert_equal({"a" => 1}, payloads[0])
  end

  # Workers make all of it, where they are wanted; and what Ruby code has a part in.
  def test_codecs_that_make_hashes_on_workers
    with_pool do |pool|
      assert_equal "workers", decoding(pool) { deserializer(Guildhall::JSON) && deserializing(parallel: true) }.to_s
      own = [OwnJSON.new, Guildhall::JSON.new(decimal_class: BigDecimal), Guildhall::MessagePack.new(allow_unknown_ext: true)]
      [*own, Guildhall::JSON >> Guildhall.map(&:size)].each do |task|
        assert_equal :in_pool, decoding(pool) { deserializer task }.place
      end
    end
  end

  def test_what_follows_the_native_decoder_runs_on_workers_where_they_may_be_used
    assert_equal :in_pool, decoding(NotingPool.new) { deserializer STAGES }.place
    in_reader = decoding { deserializer(STAGES) && deserializing(parallel: false) }
    assert_equal [:in_reader, Guildhall::JSON.lazy, false], [in_reader.place, in_reader.codec, in_reader.complete?]
  end

  RATES = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- that is the mistake
  USES_RATES = Guildhall::JSON.lazy >> Guildhall.map { |doc| RATES[doc["a"]] }

  def test_who_decodes_and_why_not_workers
    with_pool do |pool|
      {
        decoding(pool) => "nobody (no deserializer: payloads are Strings)", decoding(pool) { deserializer Guildhall::JSON.lazy } => "reader (C)",
        decoding(pool) { deserializer STAGES } => "workers, or consumer thread where the pool finds it faster",
        decoding(pool) { deserializer(STAGES) && deserializing(parallel: true) } => "workers",
        decoding(pool) { deserializer(STAGES) && deserializing(parallel: false) } => "reader (C), then consumer thread (parallel: false)",
        decoding(pool) { deserializer(STAGES) && deserializing(lazy: :on_access) } => "consumer thread (lazy: :on_access)",
        decoding(pool) { deserializer(FIRST) && deserializing(parallel: false) } => "consumer thread (parallel: false)"
      }.each { |way, text| assert_equal [text, false], [way.to_s, way.refused?] }
    end
  end

  def test_a_pipeline_that_workers_cannot_run_says_why
    with_pool do |pool|
      way = decoding(pool) { deserializer USES_RATES }
      assert_equal [:on_access, true], [way.place, way.refused?]
      assert_match(/\A\S*RATES \(test\S*decoding_test.rb:\d+\) is a Hash that is not shareable; make it so: RATES = Ractor\.make_shareable/, way.reason)
      assert_equal "consumer thread (#{way.reason})", way.to_s
    end
  end

  def test_what_is_no_pipeline_is_not_refused
    {->(bytes) { bytes.upcase } => /\Adeserializer is not shareable: a Proc \(test\S*decoding_test.rb:\d+\); make it with Ractor/,
     ->(bytes) { RATES[bytes] } => /\A\S*RATES \(test\S*decoding_test.rb:\d+\) is a Hash that is not shareable; make it so/}.each do |task, reason|
      way = decoding { deserializer task }
      assert_equal [:on_access, false], [way.place, way.refused?]
      assert_match reason, way.reason
    end
  end

  def test_what_prepares_gets_the_metadata
    with_pool do |pool|
      [NeedsMetadata.new, Guildhall::Pipeline.new([Guildhall.map(NeedsMetadata.new)])].each do |task|
        given = records("a", "b")
        decoding(pool) { deserializer(task) && deserializing(parallel: true) }.begin(given, :source).run
        assert_equal [%w[a b], given], NeedsPreparing::CALLS.pop(timeout: 60)
      end
    end
  end

  def test_on_access_the_reader_does_not_decode
    on_access = decoding { deserializer(Guildhall::JSON.lazy) && deserializing(lazy: :on_access) }
    assert_equal [:on_access, nil], [on_access.place, on_access.codec]
  end

  def test_settings_that_contradict_each_other
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "localhost:1"}
    errors = Guildhall::Kafka::Config::Problems.new
    application.routes.draw { topic("t") { deserializing parallel: true, lazy: :on_access } }
    application.routes.draw { topic("u") { deserializing lazy: :never } }
    application.routes.topics(errors)
    assert_includes errors.to_a, %(topic "t": deserializing lazy: :on_access cannot be parallel: true)
    assert_includes errors.to_a, %(topic "u": deserializing lazy must be :on_access or nil, not :never)
  end

  def test_what_workers_cannot_run_is_an_error_at_the_start_or_is_decoded_on_access
    tool = Struct.new(:cache) { def call(bytes) = cache[bytes] ||= bytes.upcase }.new({})
    with_pool do |pool|
      error = assert_raises(Guildhall::ConfigurationError) { decoding(pool) { deserializer(tool) && deserializing(parallel: true) } }
      assert_match(/topic "t": deserializing parallel: true, but workers cannot run the deserializer: .*cache/, error.message)
      way = decoding(pool) { deserializer tool }
      assert_equal [:on_access, "A"], [way.place, way.begin(records("a"), :source)[0]]
    end
  end

  def test_a_pool_that_refuses_a_batch_costs_nothing_but_its_help
    way = decoding(FullPool.new) { deserializer FIRST }
    assert_equal %w[A B], [0, 1].map { |index| way.begin(records("a", "b"), :source)[index] }
  end

  def test_a_batch_is_prepared_once_and_not_by_the_runner_that_begins_it
    with_runners do |runners|
      with_pool do |pool|
        way = decoding(pool, runners:) { deserializer(NeedsPreparing.new) && deserializing(parallel: true) }
        payloads = way.begin(records("a", nil, "b"), :source)
        thread, prepared = NeedsPreparing::CALLS.pop(timeout: 60)
        refute_same Thread.current, thread
        assert_equal ["A", nil, "B"], Array.new(3) { |index| payloads[index] }
        payloads.again
        assert_equal ["A", %w[a b], 0], [payloads[0], prepared, NeedsPreparing::CALLS.size]
      end
    end
  end

  def test_where_runners_are_busy_the_thread_that_asks_prepares
    with_pool do |pool|
      way = decoding(pool) { deserializer(NeedsPreparing.new) && deserializing(parallel: true) }
      payloads = way.begin(records("a"), :source)
      assert_empty NeedsPreparing::CALLS
      assert_equal ["A", 1], [payloads[0], NeedsPreparing::CALLS.size]
    end
  end

  def test_where_preparing_fails_payloads_are_left_to_their_reader_and_it_is_not_tried_for_each_batch
    with_pool do |pool|
      reported = []
      way = decoding(pool, report: reported.method(:push)) { deserializer(NeedsPreparing.new(failing: IOError)) && deserializing(parallel: true) }
      outcomes = Array.new(3) { way.begin(records("a"), :source)[0] }
      assert_equal [%w[A A A], 1, ["out of reach"]], [outcomes, NeedsPreparing::CALLS.size, reported.map(&:message)]
    end
  end

  # Once a batch: else the payloads would raise it, each in place of its own error.
  def test_whatever_preparing_raises_is_no_error_of_a_payload
    with_pool do |pool|
      [NotImplementedError, SystemStackError, SystemExit, :exit].each do |failing|
        way = decoding(pool) { deserializer(NeedsPreparing.new(failing:)) && deserializing(parallel: true) }
        payloads = way.begin(records("a", "b"), :source)
        Thread.new { payloads[0] }.join
        assert_equal [%w[A B], 1], [[payloads[0], payloads[1]], NeedsPreparing::CALLS.size], failing
        NeedsPreparing::CALLS.clear
      end
    end
  end

  private

  def with_runners
    runners = Guildhall::Kafka::Runtime::Runners.new(1)
    yield(runners)
  ensure
    runners.close(Guildhall::Clock.now + 5)
  end
end
