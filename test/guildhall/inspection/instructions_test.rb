# frozen_string_literal: true

require "test_helper"
require "guildhall/shareable"

class InspectionBlockTest < GuildhallTest
  def facts(block) = Guildhall::Inspection::Block.new(RubyVM::InstructionSequence.of(block))

  def test_uses_nothing_around_it
    block = facts(->(a) { a.map { |one| one + 1 } })
    assert_equal [true, false, false, []], [block.independent?, block.uses_self, block.captures, block.variables]
  end

  def test_uses_variables_around_it
    limit = 1
    set = nil
    [-> { limit }, ->(a) { a.map { |one| one + limit } }, -> { set = 1 }].each { |block| assert facts(block).captures, block.inspect }
    assert_includes facts(-> { limit }).variables, :limit
    assert_nil set
  end

  def test_its_own_variables_are_not_captured
    refute facts(->(a) { b = a; [1].each { |c| b += c } }).captures # rubocop:disable Style/Semicolon -- of one line
  end

  def test_variables_of_a_rescue_are_its_own
    refute(facts(lambda { |text|
      begin
        Integer(text)
      rescue ::ArgumentError => error
        error.message
      end
    }).captures)
  end

  def test_uses_self
    [-> { self }, -> { @a }, -> { @a = 1 }, -> { flunk }, ->(a) { a.each { flunk } }].each { |block| assert facts(block).uses_self }
    refute facts(->(a) { a.size }).uses_self
  end
end
