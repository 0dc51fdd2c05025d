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
    assert_equal ["Two is not lower case"], error.faults
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
