# frozen_string_literal: true

require "test_helper"
require "guildhall/pipeline"
require "guildhall/json"

# What answers of validators mean: those of dry-validation, ActiveModel, JSON Schema validators and of plain predicates.
class PipelineVerdictTest < GuildhallTest
  Answer = Struct.new(:success?, :errors)
  Result = Struct.new(:errors)
  Model = Struct.new(:full_messages) { def each = full_messages.each }
  Message = Struct.new(:path, :text)

  def errors(answer, &) = Guildhall::Pipeline.const_get(:Verdict).errors(answer, &)

  CASES = {
    true => nil, false => [], nil => [], [] => nil, {} => nil, ["no"] => ["no"], {name: %w[short odd]} => ["name short, odd"],
    Answer.new(true, ["a warning"]) => nil, Answer.new(false, ["bad"]) => ["bad"], Answer.new(false, []) => [],
    Result.new([]) => nil, Result.new(["bad"]) => ["bad"], Result.new(Model.new(["Name is short"])) => ["Name is short"],
    [Message.new([:a, 0], "is odd"), Message.new([], "is bad")] => ["a.0 is odd", "is bad"], Set["x"].each => ["x"], ["x"].lazy => ["x"], [].lazy => nil
  }.freeze

  def test_answers
    CASES.each { |answer, expected| expected.nil? ? assert_nil(errors(answer), answer.inspect) : assert_equal(expected, errors(answer)) }
  end

  def test_what_is_no_verdict_is_yielded
    [5, "text", Guildhall::JSON.document("{}")].each do |answer|
      assert_equal [:no_verdict], errors(answer) { |other| [:no_verdict].tap { assert_same answer, other } }
    end
  end
end
