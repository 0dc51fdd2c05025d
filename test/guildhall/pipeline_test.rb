# frozen_string_literal: true

require "test_helper"

class PipelineTest < GuildhallTest
  # A codec of ten lines, as a user would write one.
  module Words
    extend Guildhall::Codec

    def self.decode(bytes)
      raise Guildhall::DecodeError, "empty" if bytes.empty?

      bytes.split.map(&:freeze).freeze
    end
  end

  module Stages
    LONG = Guildhall.select { |words| words.size > 1 }
    COUNT = Guildhall.map { |words| words.size }
    TOPIC = Guildhall.map { |value, metadata| [value, metadata].freeze }
    LOWER = Guildhall.validate { |words| words.reject { |word| word == word.downcase }.map { |word| "#{word} is not lower case" } }
    NOT_EMPTY = Guildhall.validate { |words| words.any? }
    BROKEN = Guildhall.map { |words| words.size.fetch("no such method") }
  end

  def test_runs_stages_in_order
    pipeline = Words >> Stages::LOWER >> Stages::LONG >> Stages::COUNT
    assert_equal 3, pipeline.call("one two three")
  end

  def test_drops_what_select_leaves_out_and_stops_there
    assert_same Guildhall::DROPPED, (Words >> Stages::LONG >> Stages::BROKEN).call("one")
  end

  def test_reject_is_the_opposite
    short = Words >> Guildhall.reject(Stages::LONG.callable)
    assert_equal ["one"], short.call("one")
    assert_same Guildhall::DROPPED, short.call("one two")
  end

  def test_hands_metadata_to_stages_that_take_it
    assert_equal [["a"], :orders], (Words >> Stages::TOPIC).call("a", :orders)
  end

  def test_is_frozen_and_runs_in_another_ractor
    pipeline = Words >> Stages::LONG >> Stages::COUNT
    assert Ractor.shareable?(pipeline)
    assert_equal 2, ractor_value(Ractor.new(pipeline) { |task| task.call("one two") })
  end

  def test_names_the_stage_that_raised
    pipeline = Words >> Stages::LOWER >> Stages::COUNT >> Stages::BROKEN
    error = assert_raises(NoMethodError) { pipeline.call("one") }
    assert_equal :map_2, Guildhall::Pipeline.stage_of(error)
    error = assert_raises(Guildhall::DecodeError) { pipeline.call("") }
    assert_equal :decode, Guildhall::Pipeline.stage_of(error)
    assert_nil Guildhall::Pipeline.stage_of(RuntimeError.new)
  end

  def test_validation_says_what_is_wrong
    error = assert_raises(Guildhall::ValidationError) { (Words >> Stages::LOWER).call("one Two") }
    assert_equal ["Two is not lower case"], error.errors
    assert_equal "validate failed: Two is not lower case", error.message
    assert_raises(Guildhall::ValidationError) { (Words >> Stages::NOT_EMPTY).call(" ") }
  end

  def test_decoder_and_rest
    pipeline = Words >> Stages::LONG >> Stages::COUNT
    assert_same Words, pipeline.decoder
    assert_equal 2, pipeline.rest.call(%w[a b])
    assert_nil (Words >> Words).rest.rest
    assert_nil (Stages::LONG >> Stages::COUNT).decoder
    assert_equal %i[select map], (Stages::LONG >> Stages::COUNT).rest.names
  end

  def test_joins_pipelines
    joined = (Words >> Stages::LONG) >> (Stages::COUNT >> Stages::TOPIC)
    assert_equal %i[decode select map map_2], joined.names
    assert_equal [2, nil], joined.call("a b")
  end

  # Counts many at once.
  module Together
    def self.call(words) = [words.size, 1].freeze
    def self.call_batch(lists) = lists.map { |words| [words.fetch(0).size, lists.size].freeze }
  end

  # Lets through what is long, many at once.
  module Longs
    def self.call(words) = words.size > 1
    def self.call_batch(lists) = lists.map { |words| words.size > 1 }
  end

  def test_many_at_once
    pipeline = Words >> Guildhall.select(Longs) >> Together
    assert_equal [[3, 2], Guildhall::DROPPED, [1, 2]], pipeline.call_batch(["one two", "one", "a b"])
    assert_empty pipeline.call_batch([])
  end

  # A codec that knows a faster way with many; it says how many it was given.
  module Batches
    extend Guildhall::Codec

    def self.decode(bytes) = [bytes, 1].freeze
    def self.decode_batch(payloads) = payloads.include?("") ? raise(Guildhall::DecodeError, "empty") : payloads.map { |bytes| [bytes, payloads.size].freeze }
  end

  def test_a_codec_with_a_way_of_its_own_gets_all_payloads
    assert_equal [["a", 2], ["b", 2]], (Batches >> Guildhall.select(Longs)).call_batch(%w[a b])
    assert_equal [["a", 1], ["", 1]], (Batches >> Guildhall.select(Longs)).call_batch(["a", ""])
  end

  def test_one_that_raises_does_not_harm_the_others
    pipeline = Words >> Stages::LOWER >> Together
    seen = []
    results = pipeline.call_batch(["a b", "", "C", " ", "d"]) { |error, index| seen << [error.class, index, Guildhall::Pipeline.stage_of(error)] and :failed }
    assert_equal [[2, 1], :failed, :failed, [0, 1], [1, 1]], results # " " makes call_batch raise: each alone then
    assert_equal [[Guildhall::DecodeError, 1, :decode], [Guildhall::ValidationError, 2, :validate]], seen.first(2)
    assert_raises(Guildhall::DecodeError) { pipeline.call_batch(["a", ""]) }
  end

  def test_many_with_metadata
    assert_equal [[["a"], 1], [["b"], 2]], (Words >> Stages::TOPIC).call_batch(%w[a b], [1, 2])
    assert_raises(Guildhall::ArgumentError) { (Words >> Stages::TOPIC).call_batch(%w[a b], [1]) }
  end

  def test_counts_and_times_by_stage
    pipeline = (Words >> Stages::LOWER >> Stages::LONG >> Stages::COUNT).measured
    ["a b", "c", "C"].each { |text| pipeline.call(text) rescue nil } # rubocop:disable Style/RescueModifier
    pipeline.call_batch(["d e f", ""]) { nil }
    counts = pipeline.stats.transform_values { |stage| stage.values_at(:passed, :dropped, :failed) }
    assert_equal({decode: [4, 0, 1], validate: [3, 0, 1], select: [2, 1, 0], map: [2, 0, 0]}, counts)
    assert(pipeline.stats.values.all? { |stage| stage[:seconds].positive? })
    assert_nil (Words >> Stages::LONG).stats
  end

  # What a select leaves out of a lazy payload costs the fields that it reads, and nothing of the rest.
  module Unpaid
    PIPELINE = Guildhall::JSON.lazy >> Guildhall.select { |order| order["paid"] } >> Guildhall.map(&:to_h)
  end

  def test_a_select_on_documents_makes_nothing_else
    payload = "{\"paid\":false,\"items\":[#{(["{\"sku\":\"x\"}"] * 500).join(",")}]}".freeze
    assert_same Guildhall::DROPPED, Unpaid::PIPELINE.call(payload)
    before = GC.stat(:total_allocated_objects)
    100.times { Unpaid::PIPELINE.call(payload) }
    assert_operator GC.stat(:total_allocated_objects) - before, :<, 500
    assert_equal 500, Unpaid::PIPELINE.call(payload.sub("false", "true"))["items"].size
  end

  def test_counts_in_all_ractors
    pipeline = (Words >> Stages::COUNT).measured
    Array.new(3) { Ractor.new(pipeline) { |task| 100.times { task.call("a b") } } }.each { |ractor| ractor_value(ractor) }
    assert_equal 300, pipeline.stats[:map][:passed]
    assert_equal([300, 300], pipeline.stats.values.map { |stage| stage[:passed] })
  end

  # Lazy, as payloads usually are.
  module Lazily
    PIPELINE = Guildhall::JSON.lazy >> Guildhall.map(&:to_h)
  end

  def test_counts_what_a_pool_decodes_lazily
    Guildhall::Pool.open(workers: 2) do |pool|
      [nil, true, false].each do |parallel|
        pipeline = Lazily::PIPELINE.measured
        pool.results((["{}"] * 50) + (["["] * 3), pipeline, parallel:)
        assert_equal({passed: 50, dropped: 0, failed: 3}, pipeline.stats[:decode].except(:seconds))
        assert_operator pipeline.stats[:decode][:seconds], :>, 0
        assert_equal 50, pipeline.stats[:map][:passed]
      end
    end
  end

  # A codec that can encode.
  module Lines
    extend Guildhall::Codec

    def self.decode(bytes) = bytes.lines.map(&:freeze).freeze
    def self.encode(lines) = lines.join("|").freeze
  end

  def test_encodes
    pipeline = Words >> Guildhall.encode(Lines)
    assert_equal "a|b", pipeline.call("a b")
    assert_equal %i[decode encode], pipeline.names
    assert_same Lines, pipeline.stages.last.codec
    error = assert_raises(Guildhall::ArgumentError) { Guildhall.encode(Words) }
    assert_includes error.message, "encode"
  end

  def test_validators_validate
    validator = Ractor.make_shareable(Class.new do
      def call(words) = words.size == 1 || ["too many words"]
      def valid?(words) = words.size == 1
    end.new)
    pipeline = Words >> validator
    assert_equal %i[decode validate], pipeline.names
    assert_equal %w[a], pipeline.call("a")
    assert_raises(Guildhall::ValidationError) { pipeline.call("a b") }
  end

  Result = Struct.new(:success?, :errors)
  Errors = Struct.new(:full_messages)
  Message = Struct.new(:path, :text)

  # What is valid, what is not and why, what is no verdict at all.
  def test_the_answers_of_validators
    [true, [], [].each, {}, Result.new(true, []), Result.new(true, ["a warning"]), Errors.new([]).then { |errors| Data.define(:errors).new(errors) }].each do |answer|
      assert_equal 7, judge(answer), answer.inspect
    end
    {false => [], nil => [], ["no id"] => ["no id"], ["no id"].each => ["no id"], {id: ["is missing", "is odd"]} => ["id is missing, is odd"], Result.new(false, []) => [],
     Result.new(false, ["no id"]) => ["no id"], Result.new(false, [Message.new(%i[user id], "is missing")]) => ["user.id is missing"],
     Data.define(:errors).new(Errors.new(["Id is missing"])) => ["Id is missing"]}.each do |answer, errors|
      error = assert_raises(Guildhall::ValidationError, answer.inspect) { judge(answer) }
      assert_equal errors, error.errors
    end
    ["is missing", :ok, 1, 0.5, Object.new, Guildhall::JSON.document("{}"), Guildhall::JSON.document("[]")].each do |answer|
      error = assert_raises(Guildhall::ArgumentError, answer.inspect) { judge(answer) }
      assert_includes error.message, "validate"
    end
  end

  def test_json_schemers_own_enumerator
    require "json_schemer"
    schemer = JSONSchemer.schema({"required" => ["id"]})
    stage = Guildhall::Pipeline::Validate.allocate.tap { |one| one.instance_variable_set(:@name, :validate) }
    assert_equal({"id" => 1}, stage.send(:judge, {"id" => 1}, schemer.validate({"id" => 1})))
    error = assert_raises(Guildhall::ValidationError) { stage.send(:judge, {}, schemer.validate({})) }
    assert_equal "required", error.errors.first["type"]
  end

  def judge(answer)
    Guildhall::Pipeline::Validate.allocate.tap { |stage| stage.instance_variable_set(:@name, :validate) }.send(:judge, 7, answer)
  end

  def test_a_pipeline_has_stages
    assert_raises(Guildhall::ArgumentError) { Guildhall::Pipeline.new([]) }
  end

  def test_refuses_what_cannot_be_shared_or_called
    list = [+"mutable"]
    error = assert_raises(Guildhall::NotShareableError) { Words >> Struct.new(:list) { def call(_) = list }.new(list).freeze }
    assert_equal "map.list[0]", error.path
    error = assert_raises(Guildhall::ArgumentError) { Words >> 42 }
    assert_includes error.message, "map needs an object with `call`, not 42"
  end

  def test_a_block_with_an_unshareable_self
    if Ractor.respond_to?(:shareable_proc)
      assert_equal 1, Guildhall.map { |words| words.size }.call(["a"])
    else
      error = assert_raises(Guildhall::NotShareableError) { Guildhall.map { |words| words.size } }
      assert_includes error.message, "class or module body"
    end
  end
end
