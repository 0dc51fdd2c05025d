# frozen_string_literal: true

require "test_helper"
require "guildhall/pipeline"
require "guildhall/json"

class PipelineStageTest < GuildhallTest
  Stage = Guildhall::Pipeline::Stage

  module Named
    def self.call(value) = value
    def self.stage_name = :named
  end

  module Valid
    def self.call(_value) = true
    def self.valid?(_value) = true
  end

  def test_what_a_part_becomes
    assert_equal [[Guildhall::Pipeline::Decode, :decode]], kinds(Guildhall::JSON)
    assert_equal [[Guildhall::Pipeline::Validate, :validate]], kinds(Valid)
    assert_equal [[Guildhall::Pipeline::Map, :named]], kinds(Named)
    stage = Guildhall.map(Named, name: :once)
    assert_same stage, Stage.all(stage).first
    assert_equal %i[decode named], Stage.all(Guildhall::JSON >> Named).map(&:name)
  end

  def kinds(part) = Stage.all(part).map { |stage| [stage.class, stage.name] }

  def test_what_cannot_be_called
    error = assert_raises(Guildhall::ArgumentError) { Stage.new(5, name: "x") }
    assert_equal "x needs an object with `call`, not 5", error.message
  end

  def test_a_schema_is_no_stage_but_its_validator_is
    require "guildhall/schema"
    error = assert_raises(Guildhall::ArgumentError) { Guildhall.map(Guildhall::Schema.new({"type" => "object"})) }
    assert_equal "map needs an object with `call`, not #<Guildhall::Schema>: take its `validator`", error.message
  end

  def test_what_cannot_be_shared_says_where
    error = assert_raises(Guildhall::NotShareableError) { Stage.new(Struct.new(:log) { def call(value) = value }.new($stderr), name: :report) }
    assert_includes error.message, "report"
  end

  def test_is_frozen_and_shareable
    assert Ractor.shareable?(Stage.new(Named, name: "named"))
    assert_equal :named, Stage.new(Named, name: "named").name
  end
end
